import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { backupState, STATE_FOLDER } from '../../src/backup/backup-state.ts';
import { commitSnapshot } from '../../src/backup/commit-snapshot.ts';
import { type ConfigInput, configSchema } from '../../src/config/config.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { type Clock, HOUR_MS, systemClock } from '../../src/lib/time.ts';
import { publish } from '../../src/publish/publish.ts';
import { holdRoles } from '../../src/service/hold-roles.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { openShard } from '../../src/warehouse/shard.ts';
import { landMessages } from '../publish/publish-fixture.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';

const oneWorkgroup = 'is missing: name a workgroup, because each one numbers its own commits';

/** A new machine with two workgroups, and an empty place of backups. */
function setUp(more: ConfigInput = {}) {
  const cwd = tempDir();
  const workgroups = ['early', 'late'].map((id) => ({ id }));
  writeFileSync(join(cwd, 'wattline.yaml'), JSON.stringify({ workgroups, ...more }));
  const place = tempDir();
  return {
    cwd,
    place,
    dataDir: join(cwd, 'data'),
    restore: (...args: string[]) => runCommand(['restore', place, ...args], { cwd }),
  };
}

/** Adds a commit with a snapshot to a place. */
async function addCommit(place: string, workgroupId: string, clock: Clock): Promise<void> {
  const shard = await openShard({
    path: join(tempDir(), `${workgroupId}.duckdb`),
    workgroupId,
    memoryMegabytes: 256,
    threads: 1,
    folders: [place],
    clock,
    logger: silentLogger,
  });
  const options = { lakeDir: place, clock, logger: silentLogger };
  await landMessages(shard, { count: 5, storeTimeMs: clock.now() });
  await publish(shard, options);
  await commitSnapshot(shard, options);
  await shard.close();
}

/** Adds the state of a service with one file to a place. */
async function addState(place: string, text: string, clock: Clock): Promise<void> {
  const dataDir = tempDir();
  mkdirSync(join(dataDir, 'audit'));
  writeFileSync(join(dataDir, 'audit', '1.json'), text);
  const store = createFolderStore(join(place, STATE_FOLDER));
  await backupState({ store, dataDir, withSecrets: false, stagingDir: join(tempDir(), 'staging'), clock });
}

test('two workgroups with commits of different times get the state of the later commit', {
  tags: ['slow'],
}, async () => {
  const { place, dataDir, restore } = setUp();
  const clock = createTestClock();
  await addCommit(place, 'early', clock);
  await addState(place, 'of early', clock);
  clock.leap(HOUR_MS);
  await addCommit(place, 'late', clock);
  await addState(place, 'of late', clock);
  const { code, stdout, stderr } = await restore('--json');
  expect(code, stderr).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    workgroups: [
      { workgroup: 'early', createdAtMs: clock.now() - HOUR_MS },
      { workgroup: 'late', createdAtMs: clock.now() },
    ],
    missing: [],
    state: { restored: 1 },
  });
  expect(readFileSync(join(dataDir, 'audit', '1.json'), 'utf8')).toBe('of late');
});

test('the number of a commit is refused for several workgroups, and accepted for one', async () => {
  const { restore } = setUp();
  const { code, stderr } = await restore('--at', '1');
  expect([code, stderr]).toEqual([2, expect.stringContaining(oneWorkgroup)]);
  expect((await restore('--at', '1', '-w', 'early')).stderr).toContain('has nothing to restore');
  expect((await restore('--at', '2026-11-22T18:00:00Z')).stderr).toContain('has nothing to restore');
});

test('it is also refused for several workgroups in a bucket, before anything is asked of the bucket', async () => {
  const s3 = { endpoint: 'http://127.0.0.1:1', bucket: 'none', accessKeyId: 'a', secretAccessKey: 's' };
  const { cwd } = setUp({ storage: { s3 } });
  const { code, stderr } = await runCommand(['restore', '--at', '1'], { cwd });
  expect([code, stderr]).toEqual([2, expect.stringContaining(oneWorkgroup)]);
});

test.each(['stream', 'worker'] as const)('a restore is refused while only a %s runs', async (role) => {
  const { dataDir, restore } = setUp();
  onTestFinished(await holdRoles(configSchema.parse({ dataDir }), [role], systemClock));
  const { code, stderr } = await restore();
  expect(code).toBe(3);
  expect(stderr).toContain(`the ${role} already runs on`);
});
