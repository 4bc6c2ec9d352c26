import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createAudit } from '../../src/audit/audit.ts';
import { openAuditSpool } from '../../src/audit/spool.ts';
import { type ConfigInput, configSchema } from '../../src/config/config.ts';
import { auditConfigChanges } from '../../src/service/audit-config-changes.ts';
import { tempDir } from '../support/temp-dir.ts';

function setUp() {
  const dataDir = tempDir();
  const audit = createAudit({ dataDir, actor: 'operator' });
  return {
    dataDir,
    start(input: ConfigInput, roles = ['stream', 'worker']) {
      auditConfigChanges(configSchema.parse({ dataDir, ...input }), roles, audit);
    },
    /** What was noted since the last look. */
    noted(workgroupId: string) {
      const spool = openAuditSpool(dataDir, workgroupId);
      return spool.waiting().map((name) => {
        const entry = spool.read(name)!;
        spool.remove(name);
        return entry;
      });
    },
  };
}

const upstream = { url: 'https://stream.example.com', token: 'first-secret' };

test('changed settings since the last start are recorded by path, in each affected workgroup', () => {
  const { start, noted } = setUp();
  const devices = [{ id: '7c9e6679-7425-40de-944b-e07fc1f90ae7', name: 'garage' }];
  start({ workgroups: [{ id: 'home', devices }, { id: 'other' }] });
  expect([noted('home'), noted('other')]).toEqual([[], []]);
  start({
    stream: { retention: '2h' },
    workgroups: [{ id: 'other' }, { id: 'home', timezone: 'Europe/Paris', totalSource: 'meter' }],
  });
  const retention = { 'stream.retention': '3600000 -> 7200000' };
  expect(noted('other')).toMatchObject([
    { actor: 'operator', action: 'configuration.changed', target: 'stream, worker', data: retention },
  ]);
  const [entry, ...others] = noted('home');
  expect(others).toEqual([]);
  expect(entry!.data).toEqual({
    ...retention,
    'workgroups.home.devices.7c9e6679-7425-40de-944b-e07fc1f90ae7.id': `${devices[0]!.id} -> not set`,
    'workgroups.home.devices.7c9e6679-7425-40de-944b-e07fc1f90ae7.name': 'garage -> not set',
    'workgroups.home.timezone': 'Etc/UTC -> Europe/Paris',
    'workgroups.home.totalSource': 'not set -> meter',
  });
});

test('a start with the same configuration records nothing, also with other roles or another port', () => {
  const { start, noted } = setUp();
  start({ logLevel: 'info', workgroups: [{ id: 'home' }] });
  start({ logLevel: 'warn', workgroups: [{ id: 'home' }] }, ['report']);
  start({ logLevel: 'info', http: { port: 1, streamPort: 2 }, workgroups: [{ id: 'home' }] });
  start({ logLevel: 'warn', workgroups: [{ id: 'home' }] }, ['report']);
  expect(noted('home')).toEqual([]);
});

test('a changed secret shows that it changed and neither of its values, anywhere', async () => {
  const { start, noted, dataDir } = setUp();
  const queue = { backend: 'redis', redisUrl: 'redis://user:hunter2@queue:6379' } as const;
  start({ queue, workgroups: [{ id: 'home', upstream }] });
  start({
    queue: { ...queue, redisUrl: 'redis://user:hunter3@queue:6379' },
    workgroups: [{ id: 'home', upstream: { ...upstream, token: 'second-secret' } }],
  });
  const entries = noted('home');
  const hidden = 'redis://[secret]@queue:6379';
  expect(entries.map(({ data }) => data)).toEqual([
    {
      'queue.redisUrl': `${hidden} -> ${hidden}`,
      'workgroups.home.upstream.token': '[secret] -> [secret]',
    },
  ]);
  const files = readdirSync(dataDir, { recursive: true, withFileTypes: true }).filter((file) =>
    file.isFile(),
  );
  const text = files.map((file) => readFileSync(`${file.parentPath}/${file.name}`, 'utf8')).join();
  expect(text).toContain('[secret]');
  for (const secret of ['first-secret', 'second-secret', 'hunter']) expect(text).not.toContain(secret);
});

test('a new workgroup is recorded as added, and many changes are counted', () => {
  const { start, noted } = setUp();
  start({ workgroups: [{ id: 'home' }] });
  const deviceGroups = Object.fromEntries(
    Array.from({ length: 150 }, (_, index) => [`g${index}`, ['7c9e6679-7425-40de-944b-e07fc1f90ae7']]),
  );
  start({ workgroups: [{ id: 'home', deviceGroups }, { id: 'new' }] });
  expect(noted('new').map(({ data }) => data)).toEqual([{ 'workgroups.new': 'added' }]);
  const [entry] = noted('home');
  expect(entry!.data).toMatchObject({ more: 50 });
  expect(Object.keys(entry!.data!)).toHaveLength(101);
});
