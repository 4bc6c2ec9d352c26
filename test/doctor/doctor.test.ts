// @module-tag slow
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import packageFile from '../../package.json' with { type: 'json' };
import { createAccess } from '../../src/access/access.ts';
import type { ConfigInput } from '../../src/config/config.ts';
import type { DoctorFinding } from '../../src/doctor/run-checks.ts';
import { DAY_MS, HOUR_MS, systemClock } from '../../src/lib/time.ts';
import { startRedis } from '../support/redis.ts';
import { runCli } from '../support/run-cli.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { createServiceProcess } from '../support/service-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const home = {
  id: 'home',
  timezone: 'Europe/Paris',
  energyStreams: [{ table: 'solar', field: 'total_wh', method: 'total_energy' as const }],
};

/** Writes a private configuration, and runs the command there. */
async function doctor(cwd: string, input?: ConfigInput | string, args: string[] = []) {
  if (input !== undefined) {
    const text = typeof input === 'string' ? input : stringify(input);
    writeFileSync(join(cwd, 'wattline.yaml'), text, { mode: 0o600 });
  }
  const { code, stdout, stderr } = await runCli(['doctor', '--json', ...args], { cwd });
  const findings: DoctorFinding[] = JSON.parse(stdout);
  const lines = findings.map(({ check, state, found }) => `${state} ${check}: ${found}`);
  return { code, stdout, stderr, findings, lines };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  return (server.address() as AddressInfo).port;
}

const namesOf = (folder: string) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();

test('a service that works has no problem, and the command leaves nothing behind', async () => {
  const service = await createServiceProcess({ workgroups: [home] });
  const cwd = join(service.config.dataDir, '..');
  chmodSync(join(cwd, 'wattline.yaml'), 0o600);
  await service.start();
  await until('the worker has begun', async () => (await fetch(`${service.url}/ready`)).ok);
  const { code, findings, lines } = await doctor(cwd);
  expect({ code, problems: lines.filter((line) => line.startsWith('problem')) }).toEqual({
    code: 0,
    problems: [],
  });
  expect(new Set(findings.map(({ check }) => check))).toEqual(
    new Set([
      ...['configuration', 'data folder', 'clock', 'ports', 'access', 'secrets', 'versions', 'service'],
      'workgroups',
    ]),
  );
  expect(lines).toContain(
    `ok service: process ${service.processId} (stream, worker, report) is ready at ${service.url}`,
  );
  expect(lines).toContain('ok clock: the clock agrees with that of the own service');
  expect(lines).toContainEqual(
    expect.stringMatching(/^ok ports: port \d+ .* used by a process of this data folder$/),
  );
  expect(findings.find(({ check }) => check === 'versions')!.found).toMatch(
    new RegExp(`^Wattline ${packageFile.version}, Node 24\\..*, DuckDB v1\\.`),
  );
  expect(namesOf(service.config.dataDir).filter((name) => name.includes('doctor'))).toEqual([]);

  await service.kill();
  const after = await doctor(cwd);
  expect(after.code).toBe(4);
  expect(after.lines).toContainEqual(
    expect.stringMatching(/^problem workgroups: .*was killed or has crashed; start it again/),
  );
});

test('each fault is one line, and hides no other', async () => {
  const cwd = tempDir();
  const redis = await startRedis({ 'maxmemory-policy': 'allkeys-lru' });
  onTestFinished(() => redis.stop());
  const other = await listen(createHttpServer());
  const late = await listen(
    createHttpServer((_request, answer) => {
      answer.sendDate = false;
      answer.setHeader('date', new Date(Date.now() - HOUR_MS).toUTCString());
      answer.writeHead(401).end();
    }),
  );
  mkdirSync(join(cwd, 'data'), { mode: 0o755 });
  const access = await createAccess({ dataDir: join(cwd, 'data'), issuer: 'x', clock: systemClock });
  const issue = (subject: string, lifetimeMs: number) =>
    access.issue({ subject, scopes: { home: { permissions: ['search:read'] } }, lifetimeMs });
  const { token } = await issue('dashboard', 3 * DAY_MS);
  await issue('archive', 300 * DAY_MS);
  chmodSync(join(cwd, 'data', 'access', 'keys.json'), 0o644);
  const { code, lines, stderr } = await doctor(cwd, {
    http: { port: other },
    stream: { log: 'redis', redisUrl: redis.url },
    workgroups: [{ ...home, upstream: { url: `http://127.0.0.1:${late}`, token } }],
  });
  expect({ code, stderr: JSON.parse(stderr).error }).toEqual({ code: 4, stderr: 'WorkgroupsFailing' });
  const said = [
    /^warning configuration: dataDir: other users of this machine can access .* \(mode 0755\)/,
    /^ok redis of the stream: Redis \d+\.\d+\.\d+ answers at 127\.0\.0\.1:\d+$/,
    /^warning redis of the stream: maxmemory-policy is allkeys-lru/,
    /^warning redis of the stream: appendonly is off/,
    /^problem clock: the clock of this machine is 3\d{3} s ahead of that of the upstream/,
    new RegExp(`^problem ports: port ${other} of .* is used by another program`),
    /^problem upstream: 127\.0\.0\.1:\d+, for workgroup "home": the upstream cannot be read/,
    /^warning upstream: the token of the upstream of workgroup "home" ends at/,
    /^warning access: the token "dashboard" ends at/,
    /^problem secrets: .*keys\.json \(mode 0644\)/,
    /^warning service: no process of this data folder runs/,
  ];
  for (const line of said) expect(lines).toContainEqual(expect.stringMatching(line));
  expect(lines.filter((line) => line.includes('archive'))).toEqual([]);
});

test.skipIf(s3Missing)('a bucket is probed, and the probe is removed', async () => {
  const s3 = await s3ForTests();
  const bucket = (more: object) => ({ ...s3, ...more });
  const { lines } = await doctor(tempDir(), {
    workgroups: [home],
    storage: { s3: s3 },
    backup: { s3: bucket({ secretAccessKey: 'wrong' }) },
  });
  expect(lines).toContainEqual(expect.stringMatching(/^ok bucket: s3:.* creates an object only once/));
  expect(lines).toContainEqual(
    expect.stringMatching(/^problem bucket of backups: .*secretAccessKey is wrong/),
  );
  const { openStore } = await import('../../src/storage/open-store.ts');
  const left: string[] = [];
  for await (const { key } of openStore({ kind: 's3', ...s3 }).list('')) left.push(key);
  expect(left).toEqual([]);
});

test('a certificate that ends soon is a warning', async () => {
  const cwd = tempDir();
  const files = ['-keyout', join(cwd, 'key.pem'), '-out', join(cwd, 'cert.pem')];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=localhost'];
  execFileSync('openssl', ['req', '-x509', ...kind, ...files, '-days', '3'], { stdio: 'ignore' });
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => readFileSync(join(cwd, name)));
  const port = await listen(createSecureServer({ key, cert }, (_request, answer) => void answer.end()));
  const { lines } = await doctor(cwd, {
    workgroups: [{ ...home, upstream: { url: `https://127.0.0.1:${port}` } }],
  });
  expect(lines).toContainEqual(
    expect.stringMatching(
      new RegExp(`^warning certificates: the certificate of 127\\.0\\.0\\.1:${port} ends at`),
    ),
  );
  expect(lines).toContainEqual(expect.stringMatching(/^problem upstream: .*certificate/));
});

test('a wrong configuration is a problem, and the versions are still shown', async () => {
  const { code, lines } = await doctor(tempDir(), 'http: { port: 70000 }\n');
  expect(code).toBe(4);
  expect(lines).toMatchObject(
    [/^problem configuration: http\.port/, /^warning configuration/, /^ok versions: /].map((line) =>
      expect.stringMatching(line),
    ),
  );
});

test('the words for people are one line for each finding', async () => {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), stringify({ workgroups: [home] }));
  const { stdout } = await runCli(['doctor'], { cwd });
  for (const line of stdout.trimEnd().split('\n'))
    expect(line).toMatch(/^(ok {5}|warning|problem) {2}[a-z ]+: \S/);
  expect(stdout).toMatch(/^warning {2}data folder: .* does not exist; the first start creates it/m);
  // Nothing was created.
  expect(namesOf(cwd)).toEqual(['wattline.yaml']);
});

test('a file with a secret that others can read is named, even if the configuration refers to it', async () => {
  const cwd = tempDir();
  const upstream = { url: 'http://127.0.0.1:9', token: { file: 'token.txt' } };
  writeFileSync(join(cwd, 'token.txt'), 'hunter9\n', { mode: 0o644 });
  writeFileSync(join(cwd, 'wattline.yaml'), stringify({ workgroups: [{ ...home, upstream }] }), {
    mode: 0o644,
  });
  const { lines } = await doctor(cwd);
  expect(lines.filter((line) => line.startsWith('problem secrets'))).toMatchObject([
    expect.stringContaining('token.txt (mode 0644)'),
  ]);
  expect(statSync(join(cwd, 'token.txt')).mode & 0o777).toBe(0o644);
});
