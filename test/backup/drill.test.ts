import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findRestorable, parseAt } from '../../src/backup/stored-commits.ts';
import { InputError } from '../../src/lib/errors.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { parseStoreAddress } from '../../src/storage/open-store.ts';
import { rounds } from '../support/rounds.ts';
import type { CliResult } from '../support/run-cli.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { createSite, type Site, wattHours } from './support.ts';

/** A soak runs both. Otherwise the bucket is enough: the other tests below back up to folders, and restore from them. */
const kinds = [
  { kind: 'a folder', isS3: false, skip: undefined },
  { kind: 'a bucket', isS3: true, skip: s3Missing },
].filter(({ isS3 }) => isS3 || s3Missing !== undefined || rounds(0, 1) === 1);

test.for(kinds)(
  'a machine burns, and another one continues from $kind with identical numbers',
  {
    timeout: 240_000,
  },
  async ({ isS3, skip }, context) => {
    if (skip) context.skip(skip);
    const s3 = isS3 ? await s3ForTests() : undefined;
    const place = s3 ? `s3://${s3.bucket}/${s3.prefix}backup` : join(tempDir(), 'backup');
    const first = await siteFor(tempDir(), s3);
    await first.service.start();
    const before = await first.grow(600);
    // While the service runs.
    const backup = done(await first.run('backup', place, '--json'));
    expect(backup.workgroups[0]).toMatchObject({ workgroup: 'home', isUnchanged: false });
    const grown = await first.grow(600);
    const second = done(await first.run('backup', place, '--json', '--with-secrets'));
    expect(second.workgroups[0].sequence).toBeGreaterThan(backup.workgroups[0].sequence);
    expect(second.workgroups[0].copied).toBeLessThan(second.workgroups[0].objects);
    await first.service.kill();
    rmSync(first.cwd, { recursive: true });

    const other = await siteFor(tempDir(), s3, 1_200);
    // The keys come from the backup, so tokens of before work. Those of the new machine do not.
    rmSync(join(other.cwd, 'data'), { recursive: true });
    done(await other.run('restore', place, '--json'));
    expect(existsSync(join(other.cwd, 'data/access'))).toBe(true);
    await other.service.start();
    // A token of the machine that burnt.
    Object.assign(other.service, { token: first.service.token });
    expect(await other.report()).toEqual(grown);
    expect(wattHours(await other.grow(10))).toBe(wattHours(grown) + 30);
    done(await other.run('backup', place, '--json'));
    expect(await other.service.stop()).toBe(0);

    // An older commit.
    const refused = await other.run('restore', place, '--at', String(backup.workgroups[0].sequence));
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('there is data already');
    const back = done(
      await other.run('restore', place, '--at', String(backup.workgroups[0].sequence), '--force', '--json'),
    );
    expect(back.workgroups[0].movedAway.length).toBeGreaterThanOrEqual(2);
    for (const path of back.workgroups[0].movedAway) expect(existsSync(path)).toBe(true);
    rmSync(join(other.cwd, 'data/stream'), { recursive: true });
    await other.service.start();
    expect(await other.report()).toEqual(before);
    expect(await other.service.stop()).toBe(0);
    expect(done(await other.run('verify', place, '--json')).broken).toEqual([]);
  },
);

test('what is lost or damaged on one machine comes back, and what is damaged in a backup is found', {
  timeout: 240_000,
}, async () => {
  const place = join(tempDir(), 'backup');
  const site = await siteFor(tempDir(), undefined);
  const data = (path: string) => join(site.cwd, 'data', path);
  await site.service.start();
  await site.grow(300);
  done(await site.run('backup', place, '--json'));
  const grown = await site.grow(400);
  const restoreWhileRunning = await site.run('restore', place, '--force');
  expect(restoreWhileRunning.code).toBe(3);
  await site.service.kill();

  // Warehouse and lake are lost and the stream is not: nothing is lost and nothing doubled.
  for (const folder of ['warehouse', 'lake']) rmSync(data(folder), { recursive: true });
  done(await site.run('restore', place, '--json'));
  await site.service.start();
  expect(wattHours(await site.grow(1))).toBe(wattHours(grown) + 3);
  const [listed] = JSON.parse((await site.run('status', '--json')).stdout);
  expect(listed).toMatchObject({ workgroupId: 'home', gaps: 0 });

  // The warehouse is damaged: the last snapshot of its own lake comes back, and the stream fills the time since then.
  const snapshots = data('lake/home/snapshots');
  await until('the lake has a snapshot', () => existsSync(snapshots) && readdirSync(snapshots).length > 0);
  const last = await site.grow(400);
  await site.service.kill();
  const warehouse = data('warehouse/home.duckdb');
  truncateSync(warehouse, 500_000);
  rmSync(`${warehouse}.wal`, { force: true });
  await site.service.start();
  const status = async () => (await site.run('status')).stdout;
  await until('the status says what to do', async () =>
    /home\.duckdb is damaged.*wattline restore --force/.test(await status()),
  );
  await site.service.stop();
  expect((await site.run('restore')).stderr).toContain('there is data already');
  expect(done(await site.run('restore', '--force', '--json')).workgroups[0].movedAway).toHaveLength(2);
  await site.service.start();
  expect(wattHours(await site.grow(1))).toBe(wattHours(last) + 3);
  expect(await status()).toMatch(/^home +running/m);
  expect(await site.service.stop()).toBe(0);

  // Without a service.
  expect(done(await site.run('backup', place, '--json')).workgroups[0].isUnchanged).toBe(false);
  expect(done(await site.run('backup', place, '--json')).workgroups[0]).toMatchObject({
    isUnchanged: true,
    copied: 0,
  });
  expect(done(await site.run('verify', '--json')).workgroups[0]).toMatchObject({ broken: [] });
  const sound = done(await site.run('verify', place, '--json')).workgroups[0];
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

  // The place belongs to another warehouse.
  const foreign = await siteFor(tempDir(), undefined);
  await foreign.service.start();
  await foreign.grow(10);
  const refused = await foreign.run('backup', place);
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('has the backup of another warehouse of home'),
  });
  const other = await foreign.run('backup', join(tempDir(), 'other'));
  expect(other.stdout).toContain('Keys and tokens are not in the backup');
  await foreign.service.stop();
});

test('places and times that are none are refused', { timeout: 240_000 }, async () => {
  for (const wrong of ['s3://', 'https://example.com/x', 's3://b/../x'])
    expect(() => parseStoreAddress(wrong), wrong).toThrow(InputError);
  for (const wrong of ['yesterday', '2026-11-22', '2026-11-22T18:00:00', '-1'])
    expect(() => parseAt(wrong), wrong).toThrow(InputError);
  const empty = createFolderStore(tempDir());
  await expect(findRestorable(empty, { kind: 'newest' })).rejects.toMatchObject({ code: 'NothingToRestore' });
  const site = await siteFor(tempDir(), undefined);
  const keyless = await site.run('backup', 's3://bucket/x');
  expect(keyless.code).toBe(2);
  expect(keyless.stderr).toContain('AWS_ACCESS_KEY_ID');
  expect((await site.run('backup')).stderr).toContain('configure backup.s3');
});

async function siteFor(
  cwd: string,
  s3: Awaited<ReturnType<typeof s3ForTests>> | undefined,
  sent = 0,
): Promise<Site> {
  const site = await createSite(cwd, { sent, ...(s3 && { s3 }) });
  onTestFinished(() => site.service.kill());
  return site;
}

// biome-ignore lint/suspicious/noExplicitAny: the output of a command, as programs read it
function done({ code, stdout, stderr }: CliResult): any {
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}
