/**
 * The folder of code of one kind, and the other code that it may use. Data flows from the first part to the
 * last.
 */
export interface Part {
  name: string;
  paths: readonly string[];
  mayUse: readonly string[];
  /** The web page runs in a browser, so it may use only types of the other parts. */
  typesOnly?: true;
}

const foundation = ['lib', 'cbor', 'contract'];
const httpHomes = [
  'src/http/',
  'src/stream/',
  'src/inputs/',
  'src/report/',
  'src/operate/',
  'src/upload/upload-routes.ts',
  'src/correction/correction-routes.ts',
  'src/metrics/',
  'src/mcp/',
];
export const parts: readonly Part[] = [
  { name: 'lib', paths: ['src/lib/'], mayUse: [] },
  { name: 'cbor', paths: ['src/cbor/'], mayUse: ['lib'] },
  { name: 'contract', paths: ['src/contract/'], mayUse: ['lib', 'cbor'] },
  { name: 'decode', paths: ['src/decode/'], mayUse: foundation },
  { name: 'foreign-table', paths: ['src/foreign-table/'], mayUse: foundation },
  {
    name: 'config',
    paths: ['src/config/', 'src/roles/'],
    mayUse: [...foundation, 'foreign-table'],
  },
  { name: 'mail', paths: ['src/mail/'], mayUse: [...foundation, 'config'] },
  {
    name: 'home-assistant',
    paths: ['src/home-assistant/'],
    mayUse: [...foundation, 'config'],
  },
  { name: 'audit', paths: ['src/audit/'], mayUse: foundation },
  { name: 'redis', paths: ['src/redis/'], mayUse: foundation },
  { name: 'storage', paths: ['src/storage/'], mayUse: foundation },
  { name: 'access', paths: ['src/access/'], mayUse: [...foundation, 'audit', 'redis', 'storage'] },
  { name: 'http', paths: ['src/http/'], mayUse: [...foundation, 'access'] },
  {
    name: 'stream',
    paths: ['src/stream/'],
    mayUse: [...foundation, 'decode', 'config', 'audit', 'redis', 'access', 'http'],
  },
  {
    name: 'inputs',
    paths: ['src/inputs/'],
    mayUse: [...foundation, 'foreign-table', 'config', 'redis', 'access', 'http', 'stream'],
  },
  { name: 'client', paths: ['src/client/'], mayUse: [...foundation, 'decode', 'config', 'access'] },
  {
    name: 'report-client',
    paths: ['src/report-client/'],
    mayUse: [...foundation, 'client'],
  },
  { name: 'conformance', paths: ['src/conformance/'], mayUse: [...foundation, 'decode', 'client'] },
  { name: 'warehouse', paths: ['src/warehouse/'], mayUse: [...foundation, 'decode', 'config', 'access'] },
  { name: 'snapshot', paths: ['src/snapshot/'], mayUse: [...foundation, 'storage', 'warehouse'] },
  { name: 'balance', paths: ['src/balance/'], mayUse: [...foundation, 'config', 'warehouse'] },
  { name: 'rollup', paths: ['src/rollup/'], mayUse: [...foundation, 'config', 'warehouse'] },
  {
    name: 'correction',
    paths: ['src/correction/'],
    mayUse: [...foundation, 'config', 'audit', 'access', 'http', 'warehouse', 'rollup'],
  },
  {
    name: 'explain',
    paths: ['src/explain/'],
    mayUse: [...foundation, 'config', 'warehouse', 'balance', 'rollup'],
  },
  { name: 'problems', paths: ['src/problems/'], mayUse: [...foundation, 'config', 'warehouse', 'rollup'] },
  {
    name: 'publish',
    paths: ['src/publish/'],
    mayUse: [...foundation, 'config', 'warehouse', 'balance', 'rollup'],
  },
  {
    name: 'import',
    paths: ['src/import/'],
    mayUse: [...foundation, 'foreign-table', 'decode', 'config', 'audit', 'warehouse'],
  },
  {
    name: 'upload',
    paths: ['src/upload/'],
    mayUse: [...foundation, 'foreign-table', 'config', 'audit', 'access', 'http', 'warehouse', 'import'],
  },
  {
    name: 'backfill',
    paths: ['src/backfill/'],
    mayUse: [...foundation, 'decode', 'config', 'audit', 'client', 'warehouse', 'publish'],
  },
  {
    name: 'backup',
    paths: ['src/backup/'],
    mayUse: [...foundation, 'storage', 'warehouse', 'snapshot', 'publish'],
  },
  {
    name: 'replica',
    paths: ['src/replica/'],
    mayUse: [...foundation, 'storage', 'warehouse', 'snapshot', 'publish', 'backup'],
  },
  {
    name: 'report',
    paths: ['src/report/'],
    mayUse: [
      ...foundation,
      'config',
      'access',
      'http',
      'storage',
      'warehouse',
      'balance',
      'rollup',
      'explain',
      'publish',
      'backup',
    ],
  },
  {
    name: 'exports',
    paths: ['src/exports/'],
    mayUse: [
      ...foundation,
      'config',
      'mail',
      'home-assistant',
      'audit',
      'http',
      'storage',
      'warehouse',
      'balance',
      'publish',
      'report',
    ],
  },
  {
    name: 'alerts',
    paths: ['src/alerts/'],
    mayUse: [...foundation, 'config', 'mail', 'http', 'inputs', 'storage', 'warehouse', 'report'],
  },
  {
    name: 'pipeline',
    paths: ['src/pipeline/'],
    mayUse: [
      ...foundation,
      'alerts',
      'decode',
      'config',
      'audit',
      'client',
      'warehouse',
      'rollup',
      'explain',
      'publish',
      'problems',
      'import',
      'backfill',
      'upload',
      'correction',
      'storage',
      'backup',
      'replica',
    ],
  },
  {
    name: 'worker-rpc',
    paths: ['src/worker-rpc/'],
    mayUse: [...foundation, 'redis', 'access', 'http', 'inputs', 'pipeline'],
  },
  {
    name: 'operate',
    paths: ['src/operate/'],
    mayUse: [
      ...foundation,
      'config',
      'audit',
      'access',
      'http',
      'stream',
      'inputs',
      'warehouse',
      'import',
      'correction',
      'backfill',
      'pipeline',
      'worker-rpc',
      'report',
      'exports',
      'alerts',
    ],
  },
  { name: 'mcp', paths: ['src/mcp/'], mayUse: [...foundation, 'access', 'http', 'report-client'] },
  {
    name: 'metrics',
    paths: ['src/metrics/'],
    mayUse: [...foundation, 'config', 'access', 'http', 'stream', 'inputs', 'pipeline', 'exports', 'operate'],
  },
  {
    name: 'doctor',
    paths: ['src/doctor/'],
    mayUse: [
      ...foundation,
      'decode',
      'config',
      'access',
      'redis',
      'storage',
      'mail',
      'home-assistant',
      'http',
      'inputs',
      'stream',
      'client',
      'warehouse',
      'backfill',
      'pipeline',
      'worker-rpc',
      'operate',
    ],
  },
  {
    name: 'web',
    paths: ['src/web/'],
    mayUse: [...foundation, 'correction', 'explain', 'report', 'operate'],
    typesOnly: true,
  },
  { name: 'simulate', paths: ['src/simulate/'], mayUse: [...foundation, 'config', 'client'] },
  { name: 'jobs', paths: ['jobs/'], mayUse: [...foundation, 'config', 'redis', 'pipeline'] },
];
/** Starts the parts, so it may use them all. */
export const starters = ['src/service/'];
/** Files that only entry points use, apart from their types. */
export const readsConfig = [
  'src/config/config.ts',
  'src/config/workgroup-settings.ts',
  'src/config/parse-yaml.ts',
];
/** Entry points may use everything. */
export const entryPoints = ['src/cli.ts', 'src/cli/'];

/**
 * The parts that may use each library, in addition to the entry points. `types`: the parts that may use only
 * its types. A library that is not listed may not be used.
 */
export const libraryHomes: Readonly<Record<string, { homes: readonly string[]; types?: readonly string[] }>> =
  {
    bullmq: { homes: ['jobs/'] },
    '@electric-sql/pglite': { homes: ['jobs/'] },
    ioredis: { homes: ['src/redis/redis-clients.ts'], types: ['src/redis/', 'jobs/'] },
    '@duckdb/node-bindings': { homes: ['src/warehouse/'] },
    '@duckdb/node-api': {
      homes: ['src/warehouse/', 'src/publish/', 'src/report/', 'src/import/', 'src/backfill/', 'src/backup/'],
      types: [
        'src/rollup/',
        'src/correction/',
        'src/explain/',
        'src/problems/',
        'src/upload/',
        'src/exports/',
        'src/alerts/',
      ],
    },
    'lru-cache': { homes: ['src/'] },
    mqtt: {
      homes: ['src/inputs/mqtt-connection.ts', 'src/inputs/probe-broker.ts'],
      types: ['src/inputs/'],
    },
    nodemailer: {
      homes: ['src/mail/send-mail.ts', 'src/mail/probe-mail-server.ts'],
      types: ['src/mail/'],
    },
    lmdb: { homes: ['src/stream/log/lmdb-log.ts'] },
    'socket.io': { homes: ['src/stream/socket/stream-socket.ts'] },
    'socket.io-client': { homes: ['src/client/open-socket.ts', 'src/conformance/socket-client.ts'] },
    undici: { homes: ['src/client/', 'src/conformance/', 'src/simulate/', 'src/http/', 'src/storage/'] },
    aws4fetch: { homes: ['src/storage/sign-s3.ts'] },
    'write-excel-file': { homes: ['src/exports/write-xlsx.ts'] },
    jose: { homes: ['src/access/', 'src/doctor/check-upstreams.ts'] },
    'fastest-levenshtein': { homes: ['src/lib/input-words.ts'] },
    'fast-string-width': { homes: ['src/lib/display-width.ts'] },
    fastify: { homes: httpHomes },
    'fastify-type-provider-zod': { homes: httpHomes },
    '@fastify/compress': { homes: ['src/http/compress-answers.ts'] },
    '@fastify/cors': { homes: ['src/http/allow-origins.ts'] },
    '@fastify/swagger': { homes: ['src/report/'] },
    '@fastify/swagger-ui': { homes: ['src/report/'] },
    'csv-parse': { homes: ['src/foreign-table/parse-csv.ts'] },
    htmlparser2: { homes: ['src/lib/xml-elements.ts'] },
    'ipaddr.js': { homes: ['src/http/address-group.ts'] },
    negotiator: { homes: ['src/http/accept-header.ts'] },
    'p-queue': {
      homes: ['src/storage/file-cache.ts', 'src/worker-rpc/'],
    },
    pino: { homes: ['src/lib/logger.ts'] },
    'temporal-polyfill': { homes: ['src/lib/time.ts'] },
    yaml: { homes: ['src/config/parse-yaml.ts'] },
    yauzl: { homes: ['src/foreign-table/read-zip.ts'] },
    commander: { homes: ['src/cli/'] },
    '@modelcontextprotocol/server': { homes: ['src/mcp/'] },
    preact: { homes: ['src/web/'] },
    'd3-array': { homes: ['src/web/pictures/nice-scale.ts'] },
    vite: { homes: ['src/web/vite.config.ts'] },
    // The only library for schemas of data from outside.
    zod: { homes: ['src/', 'jobs/'] },
  };
