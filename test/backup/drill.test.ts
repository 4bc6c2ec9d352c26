import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { CliResult } from '../support/run-cli.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { createSite, type Site, wattHours } from './support.ts';

const kinds = [
  { kind: 'a folder', isS3: false, skip: undefined },
  { kind: 'a bucket', isS3: true, skip: s3Missing },
];

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
    const before = await first.grow(1_500);
    // While the service runs.
    const backup = done(await first.run('backup', place, '--json'));
    expect(backup.workgroups[0]).toMatchObject({ workgroup: 'home', isUnchanged: false });
    const grown = await first.grow(1_500);
    const second = done(await first.run('backup', place, '--json', '--with-secrets'));
    expect(second.workgroups[0].sequence).toBeGreaterThan(backup.workgroups[0].sequence);
    expect(second.workgroups[0].copied).toBeLessThan(second.workgroups[0].objects);
    await first.service.kill();
    rmSync(first.cwd, { recursive: true });

    const other = await siteFor(tempDir(), s3, 3_000);
    // The keys come from the backup, so tokens of before work.
    rmSync(join(other.cwd, 'data'), { recursive: true });
    done(await other.run('restore', place, '--json'));
    expect(existsSync(join(other.cwd, 'data/access'))).toBe(true);
    await other.service.start();
    // The token of the new machine was made with other keys.
    const token = (
      await other.run(
        'token',
        'create',
        'drill',
        '--workgroup',
        'home',
        '--permission',
        'search:read',
        '--permission',
        'data:write',
      )
    ).stdout.trim();
    Object.assign(other.service, { token });
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

test('warehouse and lake are lost and the stream is not: nothing is lost and nothing doubled', {
  timeout: 240_000,
}, async () => {
  const place = join(tempDir(), 'backup');
  const site = await siteFor(tempDir(), undefined);
  await site.service.start();
  await site.grow(700);
  done(await site.run('backup', place, '--json'));
  const last = await site.grow(900);
  await site.service.kill();
  for (const folder of ['warehouse', 'lake']) rmSync(join(site.cwd, 'data', folder), { recursive: true });
  done(await site.run('restore', place, '--json'));
  await site.service.start();
  expect(wattHours(await site.grow(1))).toBe(wattHours(last) + 3);
  const [status] = JSON.parse((await site.run('status', '--json')).stdout);
  expect(status).toMatchObject({ workgroupId: 'home', gaps: 0 });
  expect(await site.service.stop()).toBe(0);
  // Without a service.
  expect(done(await site.run('backup', place, '--json')).workgroups[0].isUnchanged).toBe(false);
  expect(done(await site.run('backup', place, '--json')).workgroups[0]).toMatchObject({
    isUnchanged: true,
    copied: 0,
  });
  expect(done(await site.run('verify', '--json')).workgroups[0]).toMatchObject({ broken: [] });
});

test('a damaged warehouse is restored from the last snapshot in its own lake, and the stream fills the time since then', {
  timeout: 240_000,
}, async () => {
  const site = await siteFor(tempDir(), undefined);
  await site.service.start();
  await site.grow(300);
  const snapshots = join(site.cwd, 'data/lake/home/snapshots');
  await until('the lake has a snapshot', () => existsSync(snapshots) && readdirSync(snapshots).length > 0);
  const last = await site.grow(400);
  await site.service.kill();
  const warehouse = join(site.cwd, 'data/warehouse/home.duckdb');
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
  expect(done(await site.run('verify', '--json')).workgroups[0]).toMatchObject({ broken: [] });
});

test('damage is found with its path and its reason, and a damaged backup is not restored', {
  timeout: 240_000,
}, async () => {
  const place = join(tempDir(), 'backup');
  const site = await siteFor(tempDir(), undefined);
  await site.service.start();
  await site.grow(300);
  done(await site.run('backup', place, '--json'));
  const restoreWhileRunning = await site.run('restore', place, '--force');
  expect(restoreWhileRunning.code).toBe(3);
  await site.service.stop();
  const sound = done(await site.run('verify', place, '--json'));
  expect(sound.workgroups[0]).toMatchObject({ snapshots: 1, packs: 1, broken: [] });
  expect(sound.workgroups[0].restorable.sequence).toBeGreaterThan(0);

  const pack = join(place, 'home/snapshots', readdirSync(join(place, 'home/snapshots'))[0]!);
  const parquet = readdirSync(join(place, 'home/files'), { recursive: true, encoding: 'utf8' }).find((name) =>
    name.endsWith('.parquet'),
  )!;
  for (const path of [pack, join(place, 'home/files', parquet)]) {
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
    const shown = await site.run('verify', place);
    expect(shown.stdout).toContain(`damaged: ${broken[0].key}`);
    const restored = await site.run('restore', place, '--force');
    expect(restored.code).toBe(1);
    expect(restored.stderr).toContain('is damaged');
    expect(existsSync(join(site.cwd, 'data/warehouse/home.duckdb'))).toBe(true);
    expect(readdirSync(join(site.cwd, 'data/warehouse')).filter((name) => /restor/.test(name))).toEqual([]);
    writeFileSync(path, whole);
  }
  rmSync(pack);
  expect(JSON.parse((await site.run('verify', place, '--json')).stdout).broken[0].why).toContain(
    'does not exist',
  );
});

test('a place of another warehouse is refused, and so are places that are none', {
  timeout: 240_000,
}, async () => {
  const place = join(tempDir(), 'backup');
  for (const round of [1, 2]) {
    const site = await siteFor(tempDir(), undefined);
    await site.service.start();
    await site.grow(10);
    const result = await site.run('backup', place);
    expect(result.code).toBe(round === 1 ? 0 : 1);
    if (round === 1) expect(result.stdout).toContain('Keys and tokens are not in the backup');
    else expect(result.stderr).toContain('has the backup of another warehouse of home');
    await site.service.stop();
    if (round === 1) continue;
    for (const wrong of ['s3://', 'https://example.com/x', 's3://b/../x'])
      expect((await site.run('backup', wrong)).code, wrong).toBe(2);
    const keyless = await site.run('backup', 's3://bucket/x');
    expect(keyless.code).toBe(2);
    expect(keyless.stderr).toContain('AWS_ACCESS_KEY_ID');
    expect((await site.run('backup')).stderr).toContain('configure backup.s3');
    expect((await site.run('restore', tempDir())).stderr).toContain('has nothing to restore');
    expect((await site.run('restore', place, '--at', 'yesterday')).code).toBe(2);
  }
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
