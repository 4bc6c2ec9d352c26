import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { removeSecrets } from '../../src/doctor/write-bundle.ts';
import { runCli } from '../support/run-cli.ts';
import { tempDir } from '../support/temp-dir.ts';

/** Nothing listens there. */
const closed = '127.0.0.1:1';
const jwt = 'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJwbGFudGVkIn0.c2lnbmF0dXJlLW9mLXBsYW50ZWQ';

/** Each has a part `planted` that must not be found again. */
const settings = {
  stream: {
    log: 'redis',
    redisUrl: `redis://planted-user:planted%2Fredis@${closed}`,
    // A "%" that encodes nothing.
    redisSentinels: [`redis://:planted%sentinel@${closed}`],
  },
  storage: {
    s3: {
      endpoint: `http://${closed}`,
      bucket: 'energy-data',
      accessKeyId: 'planted-key-id',
      secretAccessKey: 'planted-secret-key',
      sessionToken: 'planted-session',
    },
  },
  workgroups: [
    {
      id: 'home',
      timezone: 'Europe/Paris',
      energyStreams: [{ table: 'solar', field: 'total_wh', method: 'total_energy' }],
      upstream: { url: `http://reader:planted-password@${closed}/`, token: `\${PLANTED}` },
    },
    { id: 'plant', upstream: { url: `http://${closed}/`, token: { file: 'token.txt' } } },
  ],
  exports: [
    {
      id: 'daily',
      workgroup: 'home',
      report: 'daily_energy',
      range: 'yesterday',
      format: 'csv',
      destination: {
        webhook: {
          url: `https://hooks.example/planted-path/x`,
          headers: { 'X-Key': 'planted-header' },
        },
      },
    },
  ],
};
const logged = [
  '{"level":"info","msg":"service.started"}',
  'authorization: Bearer planted.opaque.token',
  `a token ${jwt} was refused`,
  'connecting to amqp://someone:planted-elsewhere@queue:5672',
  'GET /a?X-Amz-Signature=planted-signature&x=1',
  'planted-from-environment, planted/redis and planted%2Fredis were repeated',
  'planted%sentinel was repeated',
  'password=planted-other',
];

test('a bundle has what a helper needs, none of the planted secrets, and is private', {
  tags: ['slow'],
}, async () => {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), stringify(settings), { mode: 0o600 });
  mkdirSync(join(cwd, 'data', 'lake', 'home'), { recursive: true, mode: 0o700 });
  writeFileSync(join(cwd, 'data', 'lake', 'home', 'a.parquet'), 'planted as data');
  writeFileSync(join(cwd, 'token.txt'), 'planted-in-a-file\n', { mode: 0o600 });
  writeFileSync(join(cwd, 'service.log'), `${logged.join('\n')}\n`);
  const { code, stdout, stderr } = await runCli(['doctor', '--bundle', 'help.json', '--log', 'service.log'], {
    cwd,
    environment: { PLANTED: 'planted-from-environment' },
  });
  expect(stderr).toContain('help.json was written');
  expect(code).toBe(4);
  const path = join(cwd, 'help.json');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const text = readFileSync(path, 'utf8');
  expect([...text.matchAll(/.*(?:planted|c2lnbmF0).*/g)].map(([line]) => line)).toEqual([]);
  expect(stdout + stderr).not.toMatch(/planted/);
  const bundle = JSON.parse(text);
  expect(Object.keys(bundle)).toEqual([
    ...['createdAt', 'versions', 'findings', 'configuration', 'processes', 'workgroups', 'folders', 'log'],
  ]);
  expect(bundle).toMatchObject({
    configuration: {
      storage: { s3: { bucket: 'energy-data', secretAccessKey: '[secret]', accessKeyId: '[secret]' } },
      workgroups: [{ id: 'home', upstream: { url: `http://[secret]@${closed}/`, token: '[secret]' } }, {}],
    },
    workgroups: [{ workgroupId: 'home', state: 'never run' }, { workgroupId: 'plant' }],
    folders: [{ name: 'lake', files: 1, bytes: 15 }],
  });
  expect(bundle.findings.map(({ check }: { check: string }) => check)).toContain('bucket');
  expect(bundle.log).toHaveLength(logged.length);
  expect(bundle.log[0]).toBe(logged[0]);
});

test('the secrets of a configuration that is not valid are removed, and without YAML the log is left out', {
  tags: ['slow'],
}, async () => {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'token.txt'), 'planted-in-a-file');
  writeFileSync(join(cwd, 'service.log'), 'planted-in-a-file and planted-key and planted-from-environment\n');
  const bundle = async (yaml: string) => {
    writeFileSync(join(cwd, 'wattline.yaml'), yaml);
    const environment = { PLANTED: 'planted-from-environment', AWS_SECRET_ACCESS_KEY: 'planted-key' };
    const args = ['doctor', '--bundle', 'help.json', '--log', 'service.log'];
    const { code } = await runCli(args, { cwd, environment });
    expect(code).toBe(4);
    return JSON.parse(readFileSync(join(cwd, 'help.json'), 'utf8'));
  };
  const { http, ...rest } = { ...settings, http: { port: 70_000 } };
  const invalid = await bundle(stringify({ http, ...rest }));
  expect(invalid.log).toEqual(['[secret] and [secret] and [secret]']);
  expect(invalid.configuration).toBeUndefined();
  expect((await bundle('a: [')).log).toBeUndefined();
});

test('a secret is removed also inside of longer texts, names and encodings, and short ones do not spoil others', () => {
  const secrets = ['p"w/1', 'p"w/1-longer', 'abc'];
  expect(
    removeSecrets({ 'p"w/1': ['at p"w/1-longer!', encodeURIComponent('p"w/1'), 'abcd'], n: 1 }, secrets),
  ).toEqual({ '[secret]': ['at [secret]!', '[secret]', 'abcd'], n: 1 });
});

test.each([
  [['--log', 'x.log'], '--log: is only used with --bundle'],
  [['--bundle', 'b.json', '--log', 'missing.log'], /missing\.log cannot be read \(ENOENT\)/],
])('%j is refused', { tags: ['slow'] }, async (args, said) => {
  const { code, stderr } = await runCli(['doctor', ...args], { cwd: tempDir() });
  expect(code).toBe(2);
  expect(stderr).toMatch(said);
});
