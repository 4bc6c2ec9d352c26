import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { createS3Store, type S3Settings } from '../../src/storage/s3-store.ts';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { machine, work } from '../replica/replica-fixture.ts';
import { type CliResult, runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';

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

// biome-ignore lint/suspicious/noExplicitAny: the output of a command, as programs read it
function done({ code, stdout, stderr }: CliResult): any {
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

test.skipIf(s3Missing)(
  'backup, verify and restore use the bucket that has the state',
  { timeout: 240_000 },
  async () => {
    const s3 = await s3ForTests();
    const store = storeOf(s3);
    const a = await work(machine(), store);
    await a.owner.mirror(await a.grow());
    const first = await a.content();
    await a.owner.mirror(await a.grow());
    const second = await a.content();
    const run = machineWith(s3);
    const place = join(tempDir(), 'backup');

    // A machine continues by itself.
    const nothing = await run.asProcess('restore');
    expect(nothing).toMatchObject({ code: 0, stdout: expect.stringContaining('Start the service') });
    expect(done(await run.asProcess('verify', '--json'))).toMatchObject({
      place: `s3://${s3.bucket}/${s3.prefix}`.slice(0, -1),
      workgroups: [{ commits: 3, snapshots: 2, restorable: { sequence: 3 }, broken: [] }],
    });
    expect(done(await run.asProcess('backup', place, '--json'))).toMatchObject({
      workgroups: [{ workgroup: WORKGROUP, sequence: 3, isUnchanged: false }],
    });
    expect((await run('backup', `s3://${s3.bucket}/${s3.prefix}`)).stderr).toContain('name another place');

    // Back to an earlier commit, while the owner runs.
    expect(done(await run('restore', '--at', '2', '--json')).workgroups).toMatchObject([
      { workgroup: WORKGROUP, from: 2, commit: 4, isNew: true, replaced: 3 },
    ]);
    await expect(a.owner.mirror(await a.grow())).rejects.toMatchObject({ code: 'StaleOwner' });
    await a.shard.close();
    const b = await work(machine(), store);
    expect(await b.content()).toEqual(first);
    await b.owner.mirror(await b.grow());
    await b.shard.close();

    // A backup into the bucket that has data, and into a new one.
    expect((await run('restore', place)).stderr).toContain('has data already: commit 6');
    expect(done(await run('restore', place, '--force', '--json')).workgroups).toMatchObject([
      { from: 3, commit: 7, isNew: true, replaced: 6 },
    ]);
    const other = await s3ForTests();
    const { workgroups } = done(await machineWith(other)('restore', place, '--json'));
    expect(workgroups).toMatchObject([{ from: 3, commit: 1, isNew: true }]);
    expect(workgroups[0].replaced).toBeUndefined();
    for (const bucket of [store, storeOf(other)]) {
      const c = await work(machine(), bucket);
      expect(c.taken.warehouse).toBe('restored');
      expect(await c.content()).toEqual(second);
      await c.shard.close();
    }
    // The place has the backup of another warehouse.
    const third = await s3ForTests();
    const foreign = await work(machine(), storeOf(third));
    await foreign.owner.mirror(await foreign.grow());
    await foreign.shard.close();
    expect(await machineWith(third)('backup', place)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`has the backup of another warehouse of ${WORKGROUP}`),
    });
    expect(readFileSync(join(place, WORKGROUP, 'commits/000000000003.json'), 'utf8')).not.toContain(
      'generation',
    );
  },
);
