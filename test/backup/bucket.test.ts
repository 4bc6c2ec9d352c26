import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { createS3Store, type S3Settings } from '../../src/storage/s3-store.ts';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { machine, type Working, work } from '../replica/replica-fixture.ts';
import { runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';
import { printedJson } from './backup-fixture.ts';

/** A machine with the bucket in its configuration. */
function machineWith({ timeouts: _, ...s3 }: S3Settings) {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), stringify({ workgroups: [{ id: WORKGROUP }], storage: { s3 } }));
  const run = (...args: string[]) => runCommand(args, { cwd });
  return Object.assign(run, { asProcess: (...args: string[]) => runCli(args, { cwd }) });
}

function storeOf(s3: S3Settings) {
  return createS3Store({ ...s3, prefix: `${s3.prefix}${WORKGROUP}/` });
}

/** The content that the next owner of a bucket gets. */
async function contentIn(s3: S3Settings): Promise<unknown> {
  const next = await work(machine(), storeOf(s3));
  expect(next.taken.warehouse).toBe('restored');
  const content = await next.content();
  await next.shard.close();
  return content;
}

interface Filled {
  s3: S3Settings;
  /** The owner of the workgroup. Its warehouse is open. */
  owner: Working;
  /** The content of the commits 2 and 3. Commit 1 has no snapshot. */
  contents: unknown[];
  /** Runs a command on a machine that has this bucket in its configuration. */
  run: ReturnType<typeof machineWith>;
}

/** A bucket with two snapshots of a workgroup. */
async function fillBucket(): Promise<Filled> {
  const s3 = await s3ForTests();
  const owner = await work(machine(), storeOf(s3));
  const contents: unknown[] = [];
  for (let snapshots = 0; snapshots < 2; snapshots++) {
    await owner.owner.mirror(await owner.grow());
    contents.push(await owner.content());
  }
  return { s3, owner, contents, run: machineWith(s3) };
}

describe.skipIf(s3Missing)('with a bucket in the configuration', { timeout: 240_000 }, () => {
  test('verify and backup use the bucket, and restore without a place says to start the service', async () => {
    const { s3, run } = await fillBucket();
    const url = `s3://${s3.bucket}/${s3.prefix}`;
    expect(printedJson(await run.asProcess('verify', '--json'))).toMatchObject({
      place: url.slice(0, -1),
      workgroups: [{ commits: 3, snapshots: 2, restorable: { sequence: 3 }, broken: [] }],
    });
    const place = join(tempDir(), 'backup');
    expect(printedJson(await run.asProcess('backup', place, '--json'))).toMatchObject({
      workgroups: [{ workgroup: WORKGROUP, sequence: 3, isUnchanged: false }],
    });
    expect((await run('backup', url)).stderr).toContain('name another place');
    expect(await run.asProcess('restore')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Start the service'),
    });
  });

  test('restore --at makes an earlier commit the newest, and the owner that runs has to stop', async () => {
    const { s3, owner, contents, run } = await fillBucket();
    expect(printedJson(await run('restore', '--at', '2', '--json')).workgroups).toMatchObject([
      { workgroup: WORKGROUP, from: 2, commit: 4, isNew: true, replaced: 3 },
    ]);
    await expect(owner.owner.mirror(await owner.grow())).rejects.toMatchObject({ code: 'StaleOwner' });
    await owner.shard.close();
    expect(await contentIn(s3)).toEqual(contents[0]);
  });

  test('restore brings a backup into a new bucket, and into a bucket with data only with --force', async () => {
    const { s3, owner, contents, run } = await fillBucket();
    const place = join(tempDir(), 'backup');
    printedJson(await run('backup', place, '--json'));
    await owner.owner.mirror(await owner.grow());
    await owner.shard.close();

    expect((await run('restore', place)).stderr).toContain('has data already: commit 4');
    expect(printedJson(await run('restore', place, '--force', '--json')).workgroups).toMatchObject([
      { from: 3, commit: 5, isNew: true, replaced: 4 },
    ]);
    expect(await contentIn(s3)).toEqual(contents[1]);

    const other = await s3ForTests();
    const { workgroups } = printedJson(await machineWith(other)('restore', place, '--json'));
    expect(workgroups).toMatchObject([{ from: 3, commit: 1, isNew: true }]);
    expect(workgroups[0].replaced).toBeUndefined();
    expect(await contentIn(other)).toEqual(contents[1]);
  });

  test('backup keeps a backup of another warehouse, and says where it is', async () => {
    const [first, second] = [await fillBucket(), await fillBucket()];
    const place = join(tempDir(), 'backup');
    printedJson(await first.run('backup', place, '--json'));
    const kept = readFileSync(join(place, WORKGROUP, 'commits/000000000003.json'), 'utf8');
    expect(await second.run('backup', place)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`has the backup of another warehouse of ${WORKGROUP}`),
    });
    expect(readFileSync(join(place, WORKGROUP, 'commits/000000000003.json'), 'utf8')).toBe(kept);
  });

  test('a backup does not name the generation of the bucket', async () => {
    const { run } = await fillBucket();
    const place = join(tempDir(), 'backup');
    printedJson(await run('backup', place, '--json'));
    expect(readFileSync(join(place, WORKGROUP, 'commits/000000000003.json'), 'utf8')).not.toContain(
      'generation',
    );
  });
});
