import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Environment } from '../../src/config/resolve-references.ts';
import { InputError } from '../../src/lib/errors.ts';
import { loadConfig } from '../support/load-config.ts';

let cwd: string;
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'wattline-config-'));
});
afterAll(() => rmSync(cwd, { recursive: true }));

function load(yaml: string, environment: Environment = {}) {
  writeFileSync(join(cwd, 'site.yaml'), yaml);
  return loadConfig({ path: 'site.yaml', cwd, environment });
}

function problemsOf(yaml: string, environment: Environment = {}): Record<string, string> {
  try {
    load(yaml, environment);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return Object.fromEntries(error.problems.map(({ path, message }) => [path, message]));
  }
  throw new Error('it was accepted');
}

/** A reference to a variable, as it stands in a file. */
const variable = (name: string) => `\${${name}}`;
const device = '9B1DEB4D-3B7D-4BAD-9BDD-2B0D7B3DCB6D';

test('without a file all settings have defaults, below the working directory', () => {
  const empty = mkdtempSync(join(tmpdir(), 'wattline-config-'));
  const config = loadConfig({ cwd: empty, environment: {} });
  expect(config).toMatchObject({
    dataDir: join(empty, 'data'),
    logLevel: 'info',
    http: { host: '127.0.0.1', port: 8080 },
    stream: { log: 'lmdb', retention: 3_600_000 },
    queue: { backend: 'pglite' },
    pipeline: { pollEvery: 1_000, closeAfter: 172_800_000 },
    workgroups: [],
  });
  rmSync(empty, { recursive: true });
});

test('an empty file counts as no file, and the usual file name needs no option', () => {
  const folder = mkdtempSync(join(tmpdir(), 'wattline-config-'));
  writeFileSync(join(folder, 'wattline.yaml'), '');
  expect(loadConfig({ cwd: folder, environment: {} }).workgroups).toEqual([]);
  writeFileSync(join(folder, 'wattline.yaml'), 'workgroups: [{ id: home }]');
  expect(loadConfig({ cwd: folder, environment: {} }).workgroups).toMatchObject([{ id: 'home' }]);
  rmSync(folder, { recursive: true });
});

test('a named file that does not exist is an error', () => {
  const open = () => loadConfig({ path: 'missing.yaml', cwd, environment: {} });
  expect(open).toThrow(InputError);
  expect(open).toThrow(`${join(cwd, 'missing.yaml')} has a problem:\n  cannot be read (ENOENT)`);
});

test('quantities may have units, and device ids are converted to lower case', () => {
  const [workgroup] = load(`
pipeline: { pollEvery: 2s, closeAfter: 3d }
workgroups:
  - id: home
    timezone: Australia/Lord_Howe
    devices: [{ id: ${device}, name: Roof }]
    energyStreams:
      - { table: solar, field: total, method: total_energy, unit: kWh, maxPower: 10 kW, jitter: 100 Wh }
      - { table: solar, field: power, method: power_curve, maxGap: 30m, interval: 15m }
`).workgroups;
  expect(workgroup).toMatchObject({
    devices: [{ id: device.toLowerCase() }],
    energyStreams: [
      { unit: 'kWh', maxPower: 10_000, jitter: 100 },
      { unit: 'W', maxGap: 1_800_000, interval: 900_000 },
    ],
  });
});

test('every problem is reported at once, each with its path', () => {
  const problems = problemsOf(`
http: { port: eighty }
stream: { retention: soon }
queue: { backend: redis }
pipeline: { pollEvery: 1ms, publishEvery: 2 parsecs }
colour: blue
workgroups:
  - { id: home, timezone: Mars/Olympus }
  - { id: home, upstream: { url: "ftp://x" } }
  - id: "../etc"
    devices: [{ id: not-a-uuid }]
    energyStreams:
      - { table: solar, field: total, method: guess }
      - { table: solar, field: total, method: total_energy, unit: kW }
      - { table: solar, field: total, method: total_energy, jitter: 5 metres }
      - { table: solar, field: total, method: total_energy, maxPower: 0 W }
`);
  expect(Object.keys(problems).toSorted()).toEqual([
    'colour',
    'http.port',
    'pipeline.pollEvery',
    'pipeline.publishEvery',
    'queue.redisUrl',
    'stream.retention',
    'workgroups.0.timezone',
    'workgroups.1.upstream.url',
    'workgroups.2.devices.0.id',
    'workgroups.2.energyStreams.0.method',
    'workgroups.2.energyStreams.1.unit',
    'workgroups.2.energyStreams.2.jitter',
    'workgroups.2.energyStreams.3.maxPower',
    'workgroups.2.id',
  ]);
  expect(problems).toMatchObject({
    colour: 'is not a known setting',
    'pipeline.pollEvery': 'must be from 200ms to 1m; a number alone is milliseconds',
    'queue.redisUrl': 'is needed with backend: redis, such as "redis://127.0.0.1:6379"',
    'workgroups.2.energyStreams.1.unit': expect.stringContaining('"kW" is not a unit of energy but of power'),
    'workgroups.2.energyStreams.2.jitter': expect.stringContaining('such as "100 Wh"'),
  });
});

test('a log in Redis needs its own address or the address of the queue, even if other settings are wrong', () => {
  const needed = expect.stringContaining('such as "redis://127.0.0.1:6379"');
  expect(problemsOf('stream: { log: redis }')).toEqual({ 'stream.redisUrl': needed });
  expect(problemsOf('stream: { log: redis }\nhttp: { port: x }\nqueue: { backend: redis }')).toEqual({
    'http.port': expect.any(String),
    'queue.redisUrl': needed,
    'stream.redisUrl': needed,
  });
  expect(problemsOf('stream: { log: redis, redisUrl: "http://x" }')).toEqual({
    'stream.redisUrl': 'must be a redis:// or rediss:// address',
  });
  expect(
    problemsOf('stream: { log: redis, redisUrl: "redis://main", redisSentinels: [a:1, "http://b"] }'),
  ).toEqual({
    'stream.redisSentinels.1': expect.stringContaining('must be a host and a port, such as "10.0.0.1:26379"'),
  });
  expect(problemsOf('stream: { redisSentinels: ["rediss://:x@a:1", "rediss://:y@b"] }')).toEqual({
    'stream.redisSentinels': expect.stringMatching(/^must have the same user and password/),
  });
  expect(load('stream: { redisSentinels: [a, "redis://b:2"] }').stream.redisSentinels).toEqual([
    'redis://a',
    'redis://b:2',
  ]);
  expect(load('stream: { log: redis }\nqueue: { redisUrl: "redis://queue" }').stream.log).toBe('redis');
  const environment = { WATTLINE_STREAM_LOG: 'redis', WATTLINE_STREAM_REDIS_URL: 'rediss://stream' };
  expect(load('', environment).stream).toMatchObject({ log: 'redis', redisUrl: 'rediss://stream' });
});

test('missing, wrong and misspelt settings are described in words, with a suggestion', () => {
  expect(
    problemsOf(`
datadir: ./data
http:
stream: { log: file, cacheMegabytes: 0 }
pipeline: { warehouseThreads: two, rolupEvery: 5s, colour: red }
workgroups:
  - id: 7
    energyStreams: { table: solar }
    devices: [{ name: garage }]
`),
  ).toEqual({
    datadir: 'is not a known setting; is it dataDir?',
    http: 'is empty: remove it, or give it a value',
    'stream.log': 'must be one of lmdb, memory, redis',
    'stream.cacheMegabytes': 'must be at least 1',
    'pipeline.warehouseThreads': 'must be a number, not text',
    'pipeline.rolupEvery': 'is not a known setting; is it rollupEvery?',
    'pipeline.colour': 'is not a known setting',
    'workgroups.0.id': 'must be text: put it in quotes',
    'workgroups.0.energyStreams': 'must be a list, not settings by name',
    'workgroups.0.devices.0.id': expect.any(String),
  });
  expect(problemsOf('- home')).toEqual({ '': 'must be settings by name, not a list' });
});

test('a workgroup that exists twice is a problem', () => {
  expect(problemsOf('workgroups: [{ id: home }, { id: office }, { id: home }]')).toEqual({
    'workgroups.2.id': '"home" is used twice',
  });
  expect(problemsOf('workgroups: [{ id: home }, { id: Home }]')).toEqual({
    'workgroups.1.id': '"Home" is used twice',
  });
});

test('an offset is not a time zone, because it knows no daylight saving', () => {
  for (const zone of ['+01:00', 'UTC+1', '', 'Paris'])
    expect(Object.keys(problemsOf(`workgroups: [{ id: home, timezone: "${zone}" }]`))).toEqual([
      'workgroups.0.timezone',
    ]);
});

test('text that is not YAML is an error with its line', () => {
  expect(problemsOf('http: { port: 1\nworkgroups: [')['']).toMatch(/line \d/);
  // One mistake is one problem, however much of the file it makes unreadable.
  const open = () =>
    load(`access: { tokenLifetime: ${variable('LIFE')} }\nworkgroups:\n  - id: home\n    timezone: UTC`);
  expect(open).toThrow(/has a problem:\n {2}is not YAML: .* at line 1, column \d+$/);
  expect(Object.keys(problemsOf('- a\n- b'))).toEqual(['']);
  expect(Object.keys(problemsOf('just text'))).toEqual(['']);
});

test('aliases that grow without end are an error', () => {
  const lines = ['a: &a [x, x, x, x, x, x, x, x, x]'];
  for (let level = 1; level < 12; level++) {
    const [name, below] = ['abcdefghijkl'[level], 'abcdefghijkl'[level - 1]];
    lines.push(`${name}: &${name} [${Array(9).fill(`*${below}`).join(', ')}]`);
  }
  expect(problemsOf(lines.join('\n'))['']).toMatch(/alias count/);
});

test('a variable is replaced in any text', () => {
  const { workgroups } = load(
    `workgroups: [{ id: home, upstream: { url: "https://${variable('HOST')}:${variable('PORT')}/x", token: "${variable('TOKEN')}" } }]`,
    { HOST: 'stream.example', PORT: '8443', TOKEN: 'a: "b" # c' },
  );
  expect(workgroups[0]!.upstream).toMatchObject({
    url: 'https://stream.example:8443/x',
    token: 'a: "b" # c',
  });
});

test('variables that do not exist are all reported, beside the other problems', () => {
  const problems = problemsOf(
    `http: { host: "${variable('HOST')}", port: nope }\nworkgroups: [{ id: "${variable('ID')}" }]`,
  );
  expect(problems).toEqual({
    'http.host': 'the environment has no variable HOST',
    'http.port': 'must be a port from 0 to 65535',
    'workgroups.0.id': 'the environment has no variable ID',
  });
});

test('a file reference is replaced by the trimmed text, relative to the folder of the configuration', () => {
  mkdirSync(join(cwd, 'secrets'), { recursive: true });
  writeFileSync(join(cwd, 'secrets', 'token'), '  from-file\n');
  const { workgroups } = load(
    'workgroups: [{ id: home, upstream: { url: "https://x.example", token: { file: secrets/token } } }]',
  );
  expect(workgroups[0]!.upstream!.token).toBe('from-file');
  const problems = problemsOf(
    'workgroups: [{ id: home, upstream: { url: "https://x.example", token: { file: secrets/none } } }]',
  );
  expect(problems).toEqual({
    'workgroups.0.upstream.token': 'the file secrets/none cannot be read (ENOENT)',
  });
  const withMore = problemsOf(
    'workgroups: [{ id: home, upstream: { url: "https://x.example", token: { file: secrets/token, line: 1 } } }]',
  );
  expect(Object.keys(withMore)).toEqual(['workgroups.0.upstream.token']);
});

test('a file that is no regular file, or too large, is refused and not read', () => {
  mkdirSync(join(cwd, 'folder'), { recursive: true });
  execFileSync('mkfifo', [join(cwd, 'pipe')]);
  writeFileSync(join(cwd, 'large'), '');
  truncateSync(join(cwd, 'large'), 16 * 1024 * 1024 + 1);
  const problemOf = (file: string) =>
    problemsOf(
      `workgroups: [{ id: home, upstream: { url: "https://x.example", token: { file: ${file} } } }]`,
    );
  const problems = ['/dev/zero', 'pipe', 'folder', 'large'].map(problemOf);
  expect(problems.flatMap(Object.values)).toEqual([
    'the file /dev/zero is a device or a pipe: name a regular file',
    'the file pipe is a device or a pipe: name a regular file',
    'the file folder is a folder: name a file',
    'the file large has 16777217 bytes, and at most 16777216 are read: name another file',
  ]);
});

test('a NUL character is refused in every text, with its path', () => {
  writeFileSync(join(cwd, 'binary'), 'a\0b');
  const problems = problemsOf(String.raw`
    dataDir: "a\0b"
    workgroupsDir: "more\0"
    access: { jwksFile: "keys\0.json" }
    workgroups: [{ id: home, upstream: { url: "https://x.example", token: { file: binary }, table: { file: "t\0" } } }]`);
  const inYaml = 'contains a NUL character ("\\0" in YAML): remove it';
  expect(problems).toEqual({
    dataDir: inYaml,
    workgroupsDir: inYaml,
    'access.jwksFile': inYaml,
    'workgroups.0.upstream.token': 'the file binary contains a NUL character, so it is not text',
    'workgroups.0.upstream.table': 'names a file with a NUL character ("\\0" in YAML): remove it',
  });
});

test('the environment overrides the file, and is checked as strictly', () => {
  const yaml = 'dataDir: from-file\nhttp: { port: 1000, host: 127.0.0.2 }';
  const config = load(yaml, {
    WATTLINE_PORT: '2000',
    WATTLINE_DATA_DIR: '/from/environment',
    WATTLINE_QUEUE_BACKEND: 'redis',
    WATTLINE_REDIS_URL: 'redis://queue:6379',
    WATTLINE_LOG_LEVEL: 'warn',
  });
  expect(config).toMatchObject({
    dataDir: '/from/environment',
    logLevel: 'warn',
    http: { port: 2000, host: '127.0.0.2' },
    queue: { backend: 'redis', redisUrl: 'redis://queue:6379' },
  });
  expect(problemsOf(yaml, { WATTLINE_PORT: 'http', WATTLINE_LOG_LEVEL: 'loud' })).toMatchObject({
    'http.port': expect.any(String),
    logLevel: expect.any(String),
  });
});

test('each variable of the environment is one setting', () => {
  const environment = {
    WATTLINE_DATA_DIR: '/data',
    WATTLINE_LOG_LEVEL: 'debug',
    WATTLINE_HOST: '10.0.0.1',
    WATTLINE_PORT: '1001',
    WATTLINE_STREAM_PORT: '1002',
    WATTLINE_REPORT_PORT: '1003',
    WATTLINE_METRICS_HOST: '10.0.0.2',
    WATTLINE_METRICS_PORT: '1004',
    WATTLINE_STREAM_LOG: 'memory',
    WATTLINE_STREAM_REDIS_URL: 'redis://stream',
    WATTLINE_QUEUE_BACKEND: 'redis',
    WATTLINE_REDIS_URL: 'redis://queue',
    WATTLINE_WORKER_HOST: '10.0.0.3',
    WATTLINE_WORKER_PORT: '1005',
    WATTLINE_WORKER_ADDRESS: 'worker-1',
    WATTLINE_JWKS_FILE: '/keys.json',
  };
  expect(load('', environment)).toMatchObject({
    dataDir: '/data',
    logLevel: 'debug',
    http: { host: '10.0.0.1', port: 1001, streamPort: 1002, reportPort: 1003 },
    metrics: { host: '10.0.0.2', port: 1004 },
    stream: { log: 'memory', redisUrl: 'redis://stream' },
    queue: { backend: 'redis', redisUrl: 'redis://queue' },
    worker: { host: '10.0.0.3', port: 1005, address: 'worker-1' },
    access: { jwksFile: '/keys.json' },
  });
});

test('the environment counts without a file', () => {
  const empty = mkdtempSync(join(tmpdir(), 'wattline-config-'));
  expect(loadConfig({ cwd: empty, environment: { WATTLINE_PORT: '3000' } }).http.port).toBe(3000);
  rmSync(empty, { recursive: true });
});

test('the environment overrides a value where a section is expected, without a crash', () => {
  expect(Object.keys(problemsOf('http: 5', { WATTLINE_PORT: '1' }))).toEqual(['http']);
  expect(Object.keys(problemsOf('just text', { WATTLINE_PORT: '1' }))).toEqual(['']);
  expect(
    Object.keys(problemsOf('http: { host: { a: 1 } }', { WATTLINE_HOST: 'x', WATTLINE_PORT: 'y' })),
  ).toEqual(['http.port']);
});

test('a failing reference does not hide settings of the environment', () => {
  const yaml = `queue: { backend: redis }\nworkgroups: [{ id: "${variable('ID')}" }]`;
  expect(Object.keys(problemsOf(yaml, { WATTLINE_REDIS_URL: 'redis://queue' }))).toEqual(['workgroups.0.id']);
});

test('relative folders start at the folder of the configuration', () => {
  mkdirSync(join(cwd, 'etc'), { recursive: true });
  writeFileSync(join(cwd, 'etc', 'wattline.yaml'), 'dataDir: ../data\naccess: { jwksFile: keys.json }');
  const config = loadConfig({ path: 'etc/wattline.yaml', cwd, environment: {} });
  expect(config.dataDir).toBe(join(cwd, 'data'));
  expect(config.access.jwksFile).toBe(join(cwd, 'etc', 'keys.json'));
});

test('no message quotes a secret', () => {
  const yaml = `workgroups: [{ id: home, upstream: { url: "${variable('URL')}", token: { file: secrets/none } } }]`;
  const problems = JSON.stringify(problemsOf(yaml, { URL: 'sesame://hunter2@x' }));
  expect(problems).not.toContain('hunter2');
});

test('a port is a number, and nothing else counts as one', () => {
  for (const port of ['""', 'true', '1.5', '-1', '65536', '80a', '[80]'])
    expect([port, problemsOf(`http: { port: ${port} }`)]).toEqual([
      port,
      { 'http.port': 'must be a port from 0 to 65535' },
    ]);
  expect(problemsOf('', { WATTLINE_PORT: '' })).toEqual({ 'http.port': 'must be a port from 0 to 65535' });
  expect(load('', { WATTLINE_PORT: '9000' }).http.port).toBe(9000);
});

test('an alias that contains itself is an error', () => {
  expect(problemsOf('workgroups: &all [*all]')).toEqual({ '': 'an alias contains itself' });
});

test('a workgroup id that cannot be in a token is refused', () => {
  expect(problemsOf('workgroups: [{ id: __proto__ }]')).toEqual({
    'workgroups.0.id': 'cannot be "__proto__"',
  });
});
