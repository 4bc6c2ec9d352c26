import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';
import { printedJson, siteFor, wattHours } from './backup-fixture.ts';

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
    const first = await siteFor(tempDir(), { s3 });
    await first.service.start();
    const before = await first.grow(600);
    // While the service runs.
    const backup = printedJson(await first.run('backup', place, '--json'));
    expect(backup.workgroups[0]).toMatchObject({ workgroup: 'home', isUnchanged: false });
    const grown = await first.grow(600);
    const second = printedJson(await first.run('backup', place, '--json', '--with-secrets'));
    expect(second.workgroups[0].sequence).toBeGreaterThan(backup.workgroups[0].sequence);
    expect(second.workgroups[0].copied).toBeLessThan(second.workgroups[0].objects);
    await first.service.kill();
    rmSync(first.cwd, { recursive: true });

    const other = await siteFor(tempDir(), { s3, sent: 1_200 });
    // The keys come from the backup, so older tokens work. Tokens of the new machine do not work.
    rmSync(join(other.cwd, 'data'), { recursive: true });
    printedJson(await other.run('restore', place, '--json'));
    expect(existsSync(join(other.cwd, 'data/access'))).toBe(true);
    await other.service.start();
    // A token of the machine that burnt.
    Object.assign(other.service, { token: first.service.token });
    expect(await other.report()).toEqual(grown);
    expect(wattHours(await other.grow(10))).toBe(wattHours(grown) + 30);
    printedJson(await other.run('backup', place, '--json'));
    expect(await other.service.stop()).toBe(0);

    // An older commit.
    const refused = await other.run('restore', place, '--at', String(backup.workgroups[0].sequence));
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('there is data already');
    const back = printedJson(
      await other.run('restore', place, '--at', String(backup.workgroups[0].sequence), '--force', '--json'),
    );
    expect(back.workgroups[0].movedAway.length).toBeGreaterThanOrEqual(2);
    for (const path of back.workgroups[0].movedAway) expect(existsSync(path)).toBe(true);
    rmSync(join(other.cwd, 'data/stream'), { recursive: true });
    await other.service.start();
    expect(await other.report()).toEqual(before);
    expect(await other.service.stop()).toBe(0);
    expect(printedJson(await other.run('verify', place, '--json')).broken).toEqual([]);
  },
);
