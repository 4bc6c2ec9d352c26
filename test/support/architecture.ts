import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/** One import statement, as found in a source file. */
export interface Import {
  file: string;
  line: number;
  text: string;
  /** A path from the root of the project (`src/lib/time.ts`), or the name of a library (`@duckdb/node-api`). */
  target: string;
  isLibrary: boolean;
  typesOnly: boolean;
}

export interface SourceFile {
  /** From the root of the project, with forward slashes. */
  path: string;
  text: string;
}

/** Where code of one kind lives, and what it may use beside itself. Data flows from the first part to the last. */
interface Part {
  name: string;
  paths: readonly string[];
  mayUse: readonly string[];
  /** It runs in a browser, so it may use only types of the others. */
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
    mayUse: [...foundation, 'foreign-table', 'config', 'access', 'http', 'stream'],
  },
  { name: 'client', paths: ['src/client/'], mayUse: [...foundation, 'decode', 'config', 'access'] },
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
  { name: 'problems', paths: ['src/problems/'], mayUse: [...foundation, 'config', 'warehouse'] },
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
      'explain',
      'publish',
      'backup',
    ],
  },
  {
    name: 'exports',
    paths: ['src/exports/'],
    mayUse: [...foundation, 'config', 'audit', 'storage', 'warehouse', 'balance', 'publish', 'report'],
  },
  {
    name: 'alerts',
    paths: ['src/alerts/'],
    mayUse: [...foundation, 'config', 'mail', 'storage', 'warehouse', 'report', 'exports'],
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
    mayUse: [...foundation, 'redis', 'access', 'inputs', 'pipeline'],
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
  {
    name: 'metrics',
    paths: ['src/metrics/'],
    mayUse: [...foundation, 'config', 'access', 'http', 'stream', 'pipeline', 'exports', 'operate'],
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
  { name: 'jobs', paths: ['jobs/'], mayUse: [...foundation, 'config', 'pipeline'] },
];
/** Starts the parts, so it may use them all. */
const starters = ['src/service/'];
/** Files that only entry points use, apart from their types. */
const readsConfig = ['src/config/config.ts', 'src/config/workgroup-settings.ts', 'src/config/parse-yaml.ts'];
/** Entry points may use everything. */
const entryPoints = ['src/cli.ts', 'src/cli/'];

/**
 * Where each library may be used, beside the entry points; `types` where only its types may be. A library that is not
 * here has no home yet.
 */
export const libraryHomes: Readonly<Record<string, { homes: readonly string[]; types?: readonly string[] }>> =
  {
    bullmq: { homes: ['jobs/'] },
    '@electric-sql/pglite': { homes: ['jobs/'] },
    ioredis: {
      homes: ['jobs/queue-backend.ts', 'jobs/lease.ts', 'src/redis/redis-connection.ts'],
      types: ['src/redis/redis-settings.ts'],
    },
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
    mqtt: { homes: ['src/inputs/mqtt-connection.ts'] },
    nodemailer: { homes: ['src/mail/send-mail.ts'] },
    lmdb: { homes: ['src/stream/log/lmdb-log.ts'] },
    'socket.io': { homes: ['src/stream/socket/stream-socket.ts'] },
    'socket.io-client': { homes: ['src/client/open-socket.ts', 'src/conformance/socket-client.ts'] },
    '@prometheus-io/client': { homes: ['src/metrics/metrics-registry.ts'] },
    undici: { homes: ['src/client/', 'src/conformance/', 'src/simulate/', 'src/exports/', 'src/storage/'] },
    aws4fetch: { homes: ['src/storage/sign-s3.ts'] },
    'write-excel-file': { homes: ['src/exports/write-xlsx.ts'] },
    jose: { homes: ['src/access/', 'src/doctor/check-upstreams.ts'] },
    fastify: { homes: httpHomes },
    'fastify-type-provider-zod': { homes: httpHomes },
    '@fastify/compress': { homes: ['src/http/compress-answers.ts'] },
    '@fastify/cors': { homes: ['src/http/allow-origins.ts'] },
    '@fastify/static': { homes: ['src/report/page-routes.ts'] },
    '@fastify/swagger': { homes: ['src/report/'] },
    '@fastify/swagger-ui': { homes: ['src/report/'] },
    'csv-parse': { homes: ['src/foreign-table/parse-csv.ts'] },
    'p-queue': {
      homes: ['src/lib/serial-lanes.ts', 'src/storage/file-cache.ts', 'src/worker-rpc/', 'src/pipeline/'],
    },
    pino: { homes: ['src/lib/logger.ts'] },
    'temporal-polyfill': { homes: ['src/lib/time.ts'] },
    yaml: { homes: ['src/config/parse-yaml.ts'] },
    commander: { homes: ['src/cli/'] },
    preact: { homes: ['src/web/'] },
    vite: { homes: ['src/web/vite.config.ts'] },
    // The one language in which every border is described.
    zod: { homes: ['src/', 'jobs/'] },
  };

/** Reads the sources that the rules are about. */
export function readSources(root: string): SourceFile[] {
  return globSync(['src/**/*.{ts,tsx}', 'jobs/**/*.ts'], { cwd: root }).map((path) => ({
    path: path.replaceAll('\\', '/'),
    text: readFileSync(join(root, path), 'utf8'),
  }));
}

const STATEMENT = /^(?:import|export)\b(?<names>[^'";]*?)\bfrom\s*(['"])(?<from>[^'"]+)\2/gm;
const BARE = /^import\s*(['"])(?<from>[^'"]+)\1/gm;
const DYNAMIC = /\bimport\(\s*(['"`])(?<from>[^'"`]+)\1/g;

export function findImports({ path, text }: SourceFile): Import[] {
  const matches = [STATEMENT, BARE, DYNAMIC].flatMap((pattern) => [...text.matchAll(pattern)]);
  return matches
    .map((match): Import => {
      const { names = '', from = '' } = match.groups ?? {};
      const isLibrary = !from.startsWith('.');
      return {
        file: path,
        line: text.slice(0, match.index).split('\n').length,
        text: match[0].replace(/\s+/g, ' '),
        target: isLibrary ? libraryName(from) : posix.join(posix.dirname(path), from),
        isLibrary,
        typesOnly: isTypesOnly(names),
      };
    })
    .toSorted((a, b) => a.line - b.line);
}

/** `import type { … }`, or braces in which every name is a type. */
function isTypesOnly(names: string): boolean {
  if (/^\s+type\b/.test(names)) return true;
  const inBraces = /^\s*\{([^}]*)\}\s*$/.exec(names)?.[1];
  const listed = inBraces?.split(',').filter((name) => name.trim() !== '') ?? [];
  return listed.length > 0 && listed.every((name) => /^\s*type\s/.test(name));
}

function libraryName(from: string): string {
  return from
    .split('/')
    .slice(0, from.startsWith('@') ? 2 : 1)
    .join('/');
}

/**
 * Checks the rules of the architecture.
 * @param dependencies the libraries that package.json declares for use at run time
 * @returns one line for each breach: where, what stands there, and which rule it breaks
 */
export function findBreaches(sources: readonly SourceFile[], dependencies: readonly string[]): string[] {
  return sources.flatMap((source) => [
    ...findImports(source).flatMap((found) => {
      const rule = found.isLibrary ? brokenLibraryRule(found, dependencies) : brokenDirectionRule(found);
      return rule ? [`${found.file}:${found.line}: ${found.text}  <- ${rule}`] : [];
    }),
    ...findEnvironmentUse(source),
  ]);
}

function brokenDirectionRule({ file, target, typesOnly }: Import): string | undefined {
  if (isIn(file, entryPoints)) return undefined;
  if (isIn(target, entryPoints)) return 'only entry points use entry points';
  if (isIn(file, starters)) return undefined;
  if (isIn(target, starters)) return 'only entry points start the parts';
  const from = partOf(file);
  const to = partOf(target);
  if (!from) return `${file} belongs to no part; add it to test/support/architecture.ts`;
  if (!to) return `${target} belongs to no part of the product`;
  if (to.name === 'jobs' && from.name !== 'jobs') return 'src never uses jobs';
  if (from !== to && !from.mayUse.includes(to.name))
    return `${from.name} may use ${from.mayUse.join(', ') || 'nothing'}, not ${to.name}`;
  if (from.typesOnly && to !== from && !typesOnly)
    return `${from.name} runs in a browser and may use only types of ${to.name}`;
  if (readsConfig.includes(target) && from.name !== 'config' && !typesOnly)
    return 'only entry points read the configuration; types are fine';
  return undefined;
}

function brokenLibraryRule(found: Import, dependencies: readonly string[]): string | undefined {
  const { file, target, typesOnly } = found;
  if (target.startsWith('node:')) return undefined;
  // The libraries of the page are built into its files, so an installed package does not need them.
  const isBuiltIn = file.startsWith('src/web/');
  if (!isBuiltIn && !dependencies.includes(target)) return `${target} is not a dependency in package.json`;
  if (isIn(file, [...entryPoints, ...starters])) return undefined;
  const home = libraryHomes[target];
  if (!home) return `${target} has no home yet; give it one in test/support/architecture.ts`;
  if (isIn(file, home.homes) || (typesOnly && isIn(file, home.types ?? []))) return undefined;
  return `${target} lives in ${home.homes.join(', ')}`;
}

function findEnvironmentUse({ path, text }: SourceFile): string[] {
  if (isIn(path, entryPoints)) return [];
  return text.split('\n').flatMap((line, index) => {
    if (!/\bprocess\.env\b/.test(line)) return [];
    return [`${path}:${index + 1}: ${line.trim()}  <- only entry points read the environment`];
  });
}

function partOf(path: string): Part | undefined {
  return parts.find(({ paths }) => isIn(path, paths));
}

function isIn(path: string, places: readonly string[]): boolean {
  return places.some((place) => (place.endsWith('/') ? path.startsWith(place) : path === place));
}

/**
 * Files that import each other in a circle, types included: none can be read without the others.
 * @returns one line for each circle, with the files in the order in which they import each other
 */
export function findCircles(sources: readonly SourceFile[]): string[] {
  const imports = new Map(
    sources.map((source) => [source.path, findImports(source).map(({ target }) => target)]),
  );
  const circles: string[] = [];
  const seen = new Set<string>();
  const path: string[] = [];
  function visit(file: string): void {
    const start = path.indexOf(file);
    if (start >= 0) {
      circles.push([...path.slice(start), file].join(' -> '));
      return;
    }
    if (seen.has(file)) return;
    seen.add(file);
    path.push(file);
    for (const target of imports.get(file) ?? []) visit(target);
    path.pop();
  }
  for (const file of imports.keys()) visit(file);
  return circles;
}
