import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { open } from 'lmdb';
import { expect, test } from 'vitest';
import type { Offset } from '../../../src/contract/offset.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { systemClock } from '../../../src/lib/time.ts';
import { packChunk } from '../../../src/stream/log/chunk.ts';
import { openLmdbLog, readLmdbHead } from '../../../src/stream/log/lmdb-log.ts';
import { APPEND_BYTES_MIN, TRIM_BYTES_MIN } from '../../../src/stream/log/log-disk.ts';
import type { StreamLog } from '../../../src/stream/log/stream-log.ts';
import { decodeParts, telemetryBatch } from '../../support/messages.ts';
import { sampled } from '../../support/rounds.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { testLogConformance } from './log-conformance.ts';

testLogConformance({
  name: 'LMDB log',
  persists: true,
  createPlace() {
    const path = tempDir();
    return {
      open: async (options) => openLmdbLog({ ...options, path }),
      destroy: async () => rmSync(path, { recursive: true, force: true }),
    };
  },
});

const settings = { clock: systemClock, retentionMs: 3_600_000, cacheBytesMax: 1e6, logger: silentLogger };
const writer = join(import.meta.dirname, 'append-forever.ts');

test('a log that is larger than its address space grows, while it is read, and opens again', async () => {
  const path = tempDir();
  const mapBytes = 131_072;
  const open = () => openLmdbLog({ ...settings, path, mapBytes });
  const log = open();
  const batch = telemetryBatch(500);
  const counts: number[] = [];
  for (let appended = 0; appended < 5; appended++) {
    await log.append(batch);
    counts.push((await allOffsets(log)).length);
  }
  expect(counts).toEqual(counts.map((_, index) => 500 * (index + 1)));
  const file = join(path, 'data.mdb');
  expect(statSync(file).size).toBeGreaterThan(2 * mapBytes);
  // LMDB has mapped the file again, each time with more address space.
  const maps = readFileSync('/proc/self/maps', 'utf8').split('\n');
  expect(maps.filter((line) => line.endsWith(file)).length).toBeGreaterThan(1);
  await log.close();
  const again = open();
  expect((await allOffsets(again)).length).toBe(2_500);
  await again.close();
});

test('kill -9 at any moment loses no acknowledged message and serves no part of a message', {
  tags: ['slow'],
}, async () => {
  const path = tempDir();
  const acknowledged = new Set<Offset>();
  let lastNext: Offset = 0n;
  let epoch: string | undefined;
  for (const acknowledgedMax of sampled([1, 20, 45, 110, 33], 2)) {
    const child = spawn(process.execPath, [writer, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(child, 'exit');
    let count = 0;
    for await (const line of createInterface({ input: child.stdout! })) {
      const [first, last] = line.split(' ').map(BigInt);
      for (let offset = first!; offset <= last!; offset++) acknowledged.add(offset);
      if (++count === acknowledgedMax) child.kill('SIGKILL');
    }
    expect((await exited)[1]).toBe('SIGKILL');

    const log = openLmdbLog({ ...settings, path });
    const bounds = await log.bounds();
    expect(bounds.epoch).toBe(epoch ?? bounds.epoch);
    epoch = bounds.epoch;
    expect(bounds.next).toBeGreaterThan(lastNext);
    const offsets = await allOffsets(log);
    const stored = new Set(offsets);
    expect(stored.size).toBe(offsets.length);
    expect([...acknowledged].filter((offset) => !stored.has(offset))).toEqual([]);
    expect(await log.countFrom(0n)).toBe(offsets.length);
    const { firstOffset } = await log.append(telemetryBatch(1));
    expect(firstOffset).toBeGreaterThanOrEqual(bounds.next);
    acknowledged.add(firstOffset);
    lastNext = (await log.bounds()).next;
    await log.close();
  }
});

test('failed writes refuse their appends and serve nothing, and a trim makes appends possible again', {
  tags: ['slow'],
}, async () => {
  const path = tempDir();
  // A limit of the file's size, in blocks of 512 bytes. It lies within a page, so that writes fail there.
  const child = spawn(
    'sh',
    ['-c', `ulimit -f 4001 && exec "${process.execPath}" "${writer}" "${path}" 400`],
    // lmdb also reports each failed commit on standard error.
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const exited = once(child, 'exit');
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout! })) lines.push(line);
  expect(await exited).toEqual([0, null]);
  const stored = lines.filter((line) => /^\d/.test(line)).map((line) => line.split(' ').map(BigInt));
  const failed = lines.filter((line) => line.startsWith('failed'));
  expect(stored.length).toBeGreaterThan(0);
  expect(failed.length).toBeGreaterThan(0);
  expect(new Set(failed)).toEqual(new Set(['failed StorageUnavailable']));
  const lastStored = stored.map(([, last]) => last!).toSorted((a, b) => (a < b ? -1 : 1));
  expect(lines.at(-1)).toBe(`next ${lastStored.at(-1)! + 1n}`);

  const clock = createTestClock(Date.now());
  const log = openLmdbLog({ ...settings, clock, path });
  const offsets = new Set(await allOffsets(log));
  const acknowledgedCount = stored.reduce((sum, [first, last]) => sum + Number(last! - first!) + 1, 0);
  expect(offsets.size).toBe(acknowledgedCount);
  await clock.advance(settings.retentionMs + 60_000);
  await log.trim();
  await log.append(telemetryBatch(100));
  expect(await log.countFrom(0n)).toBe(100);
  await log.close();
});

// lmdb-js frees memory twice if an opening fails. How the process ends depends on the number of descriptors
// that are left.
test.for([200, 201, 202])(
  'with %s file descriptors, openings are refused and the process continues',
  { tags: ['slow'] },
  async (most) => {
    const opener = join(import.meta.dirname, 'open-many-logs.ts');
    const child = spawn(
      'sh',
      ['-c', `ulimit -n ${most} && exec "${process.execPath}" "${opener}" "${tempDir()}"`],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const exited = once(child, 'exit');
    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stdout! })) lines.push(line);
    expect(lines).toEqual(['open TooManyFiles', 'read TooManyFiles', 'opened again']);
    expect(await exited).toEqual([0, null]);
  },
);

test('a file that is not a log is refused before LMDB opens it', async () => {
  const path = tempDir();
  writeFileSync(join(path, 'data.mdb'), 'not a log'.repeat(1_000));
  expect(() => openLmdbLog({ ...settings, path })).toThrow(/is not a log/);
  await expect(readLmdbHead(path)).rejects.toMatchObject({ code: 'DamagedLog' });
  const folder = tempDir();
  mkdirSync(join(folder, 'lock.mdb'));
  expect(() => openLmdbLog({ ...settings, path: folder })).toThrow(/lock.mdb is not a file/);
});

test('an almost full disk refuses appends, but reads and trims continue', async () => {
  const path = tempDir();
  const clock = createTestClock();
  const batch = telemetryBatch(5);
  const enough = APPEND_BYTES_MIN + packChunk([batch]).value.length;
  let freeBytes = enough;
  const options = { ...settings, clock, path, freeBytes: () => freeBytes };
  const log = openLmdbLog(options);
  const { lastOffset } = await log.append(batch);
  freeBytes = enough - 1;
  await expect(log.append(batch)).rejects.toMatchObject({
    code: 'StorageUnavailable',
    retryAfterSeconds: 1,
  });
  expect((await log.bounds()).next).toBe(lastOffset + 1n);
  expect(await allOffsets(log)).toHaveLength(5);
  await clock.advance(settings.retentionMs + 1);
  freeBytes = TRIM_BYTES_MIN - 1;
  await expect(log.trim()).rejects.toMatchObject({ code: 'DiskFull' });
  expect(() => openLmdbLog(options)).toThrow(expect.objectContaining({ code: 'DiskFull' }));
  freeBytes = TRIM_BYTES_MIN;
  await log.trim();
  freeBytes = enough;
  expect((await log.append(telemetryBatch(1))).firstOffset).toBeGreaterThan(lastOffset);
  await log.close();
});

test('the end of a log is read while it is not open: it is empty if all its messages were trimmed', async () => {
  const path = tempDir();
  const clock = createTestClock();
  expect(await readLmdbHead(path)).toBeUndefined();
  const first = openLmdbLog({ ...settings, clock, path });
  const { epoch } = await first.bounds();
  await first.close();
  expect(await readLmdbHead(path)).toEqual({ epoch, next: 0n, isEmpty: true });
  const second = openLmdbLog({ ...settings, clock, path });
  const { lastOffset } = await second.append(telemetryBatch(2));
  await second.close();
  expect(await readLmdbHead(path)).toEqual({ epoch, next: lastOffset + 1n, isEmpty: false });
  const third = openLmdbLog({ ...settings, clock, path });
  await clock.advance(settings.retentionMs + 1);
  await third.trim();
  await third.close();
  expect(await readLmdbHead(path)).toEqual({ epoch, next: lastOffset + 1n, isEmpty: true });
});

test('trimmed pages are used for new messages, so the file does not grow', async () => {
  const path = tempDir();
  const clock = createTestClock();
  const log = openLmdbLog({ ...settings, clock, path, retentionMs: 10_000 });
  const sizes: number[] = [];
  const batch = telemetryBatch(400);
  for (let round = 0; round < 40; round++) {
    for (let append = 0; append < 3; append++) await log.append(batch);
    await clock.advance(1_000);
    await log.trim();
    sizes.push(statSync(join(path, 'data.mdb')).size);
  }
  expect(sizes.at(-1)!).toBeLessThan(sizes[15]! * 1.5);
  await log.close();
});

test('a trim and a read take whole pages of the file', async () => {
  const clock = createTestClock();
  const log = openLmdbLog({ ...settings, clock, path: tempDir(), retentionMs: 10_000, cacheBytesMax: 1 });
  for (let append = 0; append < 3; append++) await log.append(telemetryBatch(1));
  expect(log.fileBytesRead).toBe(0);
  const { earliest } = await log.bounds();
  await log.read({ from: earliest, limit: 1, bytesMax: 1e6, oneAtLeast: true });
  expect(log.fileBytesRead).toBe(4_096);
  await clock.advance(10_001);
  await log.trim();
  expect(log.fileBytesRead).toBe(4 * 4_096);
  await log.close();
});

test('after a second process has opened the log, the first process reads but cannot append', async () => {
  const path = tempDir();
  const first = openLmdbLog({ ...settings, path });
  const { lastOffset } = await first.append(telemetryBatch(2));
  const second = openLmdbLog({ ...settings, path });
  await expect(first.append(telemetryBatch(1))).rejects.toMatchObject({ code: 'StorageUnavailable' });
  const appended = await second.append(telemetryBatch(1));
  expect(appended.firstOffset).toBeGreaterThan(lastOffset);
  expect((await first.bounds()).next).toBe(lastOffset + 1n);
  expect((await allOffsets(second)).length).toBe(3);
  await first.close();
  await second.close();
});

test('a log of a later version is refused with advice', async () => {
  const path = tempDir();
  await openLmdbLog({ ...settings, path }).close();
  const environment = open({ path });
  await environment
    .openDB('head', { encoding: 'json' })
    .put('head', { format: 2, epoch: 'x', trimmedOrdinal: 0 });
  await environment.close();
  expect(() => openLmdbLog({ ...settings, path })).toThrow('use a later version');
});

async function allOffsets(log: StreamLog): Promise<Offset[]> {
  const offsets: Offset[] = [];
  let from: Offset | 'oldest' = 'oldest';
  for (let upToDate = false; !upToDate; ) {
    const outcome = await log.read({ from, limit: 10_000, bytesMax: 8e6, oneAtLeast: true });
    if (outcome.kind !== 'batch') throw new Error(outcome.kind);
    for (const message of decodeParts(outcome.parts)) offsets.push(BigInt(message.offset));
    from = outcome.nextOffset;
    upToDate = outcome.upToDate;
  }
  return offsets;
}
