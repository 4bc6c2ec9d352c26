// @module-tag slow
import { spawnSync } from 'node:child_process';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sampled } from '../support/rounds.ts';
import { mountSmallDisk } from '../support/small-disk.ts';
import { tempDir } from '../support/temp-dir.ts';
import { startLanding } from './children.ts';
import { expectExactlyOnce } from './landed.ts';
import { openTestShard } from './warehouse-fixture.ts';

/** A folder with limited space, and a way to give it more. */
interface SmallDisk {
  folder: string;
  /** Shell code that a process on this disk runs first. */
  inShell: string;
  enlarge(pid: number): void;
}

const succeeds = (command: string, ...args: string[]) => spawnSync(command, args).status === 0;

function smallMount(megabytes: number): SmallDisk | undefined {
  const disk = mountSmallDisk(megabytes);
  if (disk === undefined) return undefined;
  const { folder, enlarge } = disk;
  return { folder, inShell: '', enlarge: () => expect(enlarge()).toBe(true) };
}

/** A limit on the size of files, which makes the same writes fail with another error. */
function smallFiles(megabytes: number): SmallDisk | undefined {
  if (!succeeds('prlimit', '--version')) return undefined;
  return {
    folder: tempDir(),
    // Blocks of 512 bytes, as POSIX counts; the signal that comes with the error would end the process.
    inShell: `trap '' XFSZ; ulimit -S -f ${megabytes * 2_048};`,
    enlarge: (pid) => expect(succeeds('prlimit', '--pid', String(pid), '--fsize=unlimited')).toBe(true),
  };
}

const cases = [
  { what: 'the write-ahead log fills the disk', memory: 1_024, megabytes: 12 },
  { what: 'a checkpoint fills the disk, and DuckDB gives the database up', memory: 48, megabytes: 18 },
];

const disks = [
  { kind: 'a full disk', makeDisk: smallMount },
  { kind: 'a file that may not grow', makeDisk: smallFiles },
];
/** In the soak each disk has each case. */
const both = disks.flatMap((disk) => cases.map((one) => ({ ...disk, ...one })));

describe('landing fails clearly, loses no message, and continues when there is space', () => {
  test.for(sampled(both, 4))('$what, on $kind', async ({ makeDisk, ...one }, context) => {
    const disk = makeDisk(one.megabytes);
    if (disk === undefined) return context.skip('this user cannot make a small disk');
    const path = join(disk.folder, 'acme.duckdb');
    const child = startLanding([path, one.memory, 0, 20_000, 10], disk.inShell);
    await child.said(({ kind }) => kind === 'failed');
    const failedAt = child.events.length;
    const failures = child.events.filter(({ kind }) => kind === 'failed');
    expect(failures[0]).toMatchObject({ code: 'DiskFull', retryable: true });
    expect(child.events.some(({ kind }) => kind === 'landed')).toBe(true);

    disk.enlarge(child.process.pid!);
    await child.said(({ kind }) => kind === 'closed');
    expect(child.events.at(-1)).toEqual({ kind: 'closed' });
    expect(child.events.slice(failedAt).some(({ kind }) => kind === 'landed')).toBe(true);
    for (const { kind, retryable } of child.events) if (kind === 'failed') expect(retryable).toBe(true);
    expect(await expectExactlyOnce(await openTestShard({ path }))).toBeGreaterThan(0);
  });
});

test.for([0, 4_096, 20_480, 65_536])(
  'a new warehouse on a disk with %i free bytes is refused, and opens when there is space',
  async (freeBytes, context) => {
    const disk = smallMount(8);
    if (disk === undefined) return context.skip('this user cannot make a small disk');
    const path = join(disk.folder, 'acme.duckdb');
    const filler = join(disk.folder, 'filler');
    const { bavail, bsize } = statfsSync(disk.folder);
    writeFileSync(filler, Buffer.alloc(bavail * bsize - freeBytes));
    for (const _ of [1, 2]) await expect(openTestShard({ path })).rejects.toMatchObject({ code: 'DiskFull' });
    rmSync(filler);
    const shard = await openTestShard({ path });
    expect((await shard.status()).messages).toBe(0);
  },
);
