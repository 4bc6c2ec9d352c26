import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findRestorable, parseAt } from '../../src/backup/stored-commits.ts';
import { InputError } from '../../src/lib/errors.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { parseStoreAddress } from '../../src/storage/open-store.ts';
import { isSoak } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { printedJson, type Site, siteFor, wattHours } from './backup-fixture.ts';

test('what is lost or damaged on one machine comes back, and what is damaged in a backup is found', {
  tags: ['slow'],
  timeout: 240_000,
}, async () => {
  const place = join(tempDir(), 'backup');
  const site = await siteFor(tempDir());
  const data = (path: string) => join(site.cwd, 'data', path);
  await site.service.start();
  await site.grow(50);
  printedJson(await site.run('backup', place, '--json', '--with-secrets'));
  const grown = await site.grow(50);
  const restoreWhileRunning = await site.run('restore', place, '--force');
  expect(restoreWhileRunning.code).toBe(3);
  await site.service.kill();

  // Warehouse, lake and keys are lost and the stream is not: no data is lost or doubled, and older tokens
  // work.
  for (const folder of ['warehouse', 'lake', 'access']) rmSync(data(folder), { recursive: true });
  printedJson(await site.run('restore', place, '--json'));
  await site.service.start();
  expect(wattHours(await site.grow(1))).toBe(wattHours(grown) + 3);
  const [listed] = JSON.parse((await site.run('status', '--json')).stdout);
  expect(listed).toMatchObject({ workgroupId: 'home', gaps: 0 });

  const warehouse = data('warehouse/home.duckdb');
  // restore-lake.test.ts tests the last snapshot of a lake, and the parts above test what the stream fills.
  if (isSoak) await restoreFromOwnLake(site, warehouse);
  expect(await site.service.stop()).toBe(0);

  // Without a service.
  expect((await site.run('restore', place)).stderr).toContain('there is data already');
  expect(printedJson(await site.run('backup', place, '--json')).workgroups[0].isUnchanged).toBe(false);
  expect(printedJson(await site.run('backup', place, '--json')).workgroups[0]).toMatchObject({
    isUnchanged: true,
    copied: 0,
  });
  const keyless = await site.run('backup', join(tempDir(), 'other'));
  expect(keyless.stdout).toContain('Keys and tokens are not in the backup');
  expect(printedJson(await site.run('verify', '--json')).workgroups[0]).toMatchObject({ broken: [] });
  const sound = printedJson(await site.run('verify', place, '--json')).workgroups[0];
  expect(sound).toMatchObject({ snapshots: 2, broken: [] });
  expect(sound.restorable.sequence).toBeGreaterThan(0);

  // Damage is found with its path and its reason, and a damaged backup is not restored.
  const newest = JSON.parse(
    readFileSync(
      join(place, 'home/commits', readdirSync(join(place, 'home/commits')).sort().at(-1)!),
      'utf8',
    ),
  );
  const { dataset, folder, name } = newest.files.at(-1);
  const pack = join(place, 'home', newest.snapshot.pack);
  for (const path of [pack, join(place, 'home/files', dataset, folder, name)]) {
    const whole = readFileSync(path);
    const spoilt = Buffer.from(whole);
    spoilt[whole.length >> 1]! ^= 4;
    writeFileSync(path, spoilt);
    const verified = await site.run('verify', place, '--json');
    expect(verified.code).toBe(1);
    const { broken } = JSON.parse(verified.stdout);
    expect(broken).toHaveLength(1);
    expect(join(place, broken[0].key)).toBe(path);
    expect(broken[0].why).toMatch(/damaged/);
    expect(verified.stderr).toContain(broken[0].key);
    const restored = await site.run('restore', place, '--force');
    expect(restored.code).toBe(1);
    expect(restored.stderr).toContain('is damaged');
    expect(existsSync(warehouse)).toBe(true);
    expect(readdirSync(data('warehouse')).filter((entry) => /restor(?!e-)/.test(entry))).toEqual([]);
    writeFileSync(path, whole);
  }
  rmSync(pack);
  const shown = await site.run('verify', place);
  expect(shown.stdout).toMatch(/^damaged: home\/snapshots\/.*does not exist/m);
});

/**
 * The warehouse is damaged: the last snapshot of its own lake comes back, and the stream fills the time since
 * then.
 */
async function restoreFromOwnLake(site: Site, warehouse: string): Promise<void> {
  const snapshots = join(site.cwd, 'data/lake/home/snapshots');
  await until('the lake has a snapshot', () => existsSync(snapshots) && readdirSync(snapshots).length > 0);
  const last = await site.grow(50);
  await site.service.kill();
  truncateSync(warehouse, 500_000);
  rmSync(`${warehouse}.wal`, { force: true });
  const status = async () => (await site.run('status')).stdout;
  // shard.test.ts tests the words of the error, and readiness.test.ts that it is reported.
  await site.service.start();
  await until('the status says what to do', async () =>
    /home\.duckdb is damaged.*wattline restore --force/.test(await status()),
  );
  await site.service.stop();
  expect((await site.run('restore')).stderr).toContain('there is data already');
  expect(printedJson(await site.run('restore', '--force', '--json')).workgroups[0].movedAway).toHaveLength(2);
  await site.service.start();
  expect(wattHours(await site.grow(1))).toBe(wattHours(last) + 3);
  expect(await status()).toMatch(/^home +running/m);
}

test('invalid places and times are refused', { timeout: 240_000 }, async () => {
  for (const wrong of ['', ' ', 's3://', 'https://example.com/x', 's3://b/../x'])
    expect(() => parseStoreAddress(wrong), wrong).toThrow(InputError);
  for (const wrong of ['yesterday', '2026-11-22', '2026-11-22T18:00:00', '2026-02-30T18:00:00Z', '-1'])
    expect(() => parseAt(wrong), wrong).toThrow(InputError);
  const empty = createFolderStore(tempDir());
  await expect(findRestorable(empty, { kind: 'newest' })).rejects.toMatchObject({ code: 'NothingToRestore' });
  const site = await siteFor(tempDir());
  const keyless = await site.run('backup', 's3://bucket/x');
  expect(keyless.code).toBe(2);
  expect(keyless.stderr).toContain('AWS_ACCESS_KEY_ID');
  expect((await site.run('backup')).stderr).toContain('configure backup.s3');
});
