import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createForwardingLogger, silentLogger } from '../../src/lib/logger.ts';
import {
  createStatusBook,
  isFresh,
  readStatuses,
  statusIntervalMs,
} from '../../src/pipeline/workgroup-status.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

test('a status is written once a second, and less often if there are many workgroups', () => {
  expect([1, 20, 50, 200, 400].map(statusIntervalMs)).toEqual([1_000, 1_000, 2_500, 10_000, 10_000]);
});

test('the statuses of many workgroups are written without waiting for the disk', async () => {
  const dataDir = tempDir();
  const book = createStatusBook({ dataDir, clock: { now: () => 1_800_000_000_000 }, logger: silentLogger });
  for (let number = 0; number < 100; number++) book.note(`home-${number}`, { gaps: number });
  expect(readStatuses(dataDir)).toEqual([]);
  await book.flush();
  expect(readStatuses(dataDir)).toHaveLength(100);
});

test('a change during the writing of a status is in the file in the end', async () => {
  const dataDir = tempDir();
  const clock = { ms: 1_800_000_000_000, now: () => clock.ms };
  const book = createStatusBook({ dataDir, clock, logger: silentLogger });
  const gaps = () => readStatuses(dataDir)[0]?.gaps;
  book.note('home', { gaps: 1 });
  // The first write still runs. Nothing of the second one is written before its time.
  book.note('home', { gaps: 2 });
  await until('it is written', () => gaps() !== undefined);
  expect(gaps()).toBe(1);
  await book.flush();
  expect(gaps()).toBe(2);
  clock.ms += 1_000;
  book.note('home', { gaps: 3 });
  book.note('home', { gaps: 4 });
  await book.flush();
  expect(gaps()).toBe(4);
});

test('a status that cannot be written is logged once, and again after it could be written', async () => {
  const dataDir = tempDir();
  const clock = { ms: 1_800_000_000_000, now: () => clock.ms };
  const lines: string[] = [];
  const logger = createForwardingLogger((line) => lines.push(line));
  const book = createStatusBook({ dataDir, clock, logger });
  const folder = join(dataDir, 'status');
  const note = async (gaps: number) => {
    clock.ms += 1_000;
    book.note('home', { gaps });
    // Waits for the write that has begun.
    await book.flush().catch(() => {});
  };
  rmSync(folder, { recursive: true });
  await note(1);
  await note(2);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    {
      level: 'error',
      workgroup: 'home',
      error: expect.stringContaining('ENOENT'),
      msg: 'status.not-written',
    },
  ]);
  mkdirSync(folder);
  await note(3);
  expect(readStatuses(dataDir)).toMatchObject([{ gaps: 3 }]);
  rmSync(folder, { recursive: true });
  await note(4);
  expect(lines).toHaveLength(2);
});

test('a worker that stops says so, but not of a workgroup that another worker has taken over', async () => {
  const dataDir = tempDir();
  const clock = { now: () => 1_800_000_000_000 };
  const book = createStatusBook({ dataDir, clock, logger: silentLogger });
  book.note('home', { gaps: 1 });
  book.note('lost', { gaps: 2 });
  await book.flush();
  const file = join(dataDir, 'status', 'lost.json');
  const ofAnother = JSON.stringify({ ...book.of('lost'), processId: 1 });
  writeFileSync(file, ofAnother);
  book.of('never touched');
  await book.close();
  expect(readFileSync(file, 'utf8')).toBe(ofAnother);
  const states = readStatuses(dataDir).map((one) => [one.workgroupId, one.gaps, isFresh(one, clock.now())]);
  expect(states).toEqual([
    ['home', 1, false],
    ['lost', 2, true],
  ]);
});

test('a worker that starts again knows what was published, and nothing else', async () => {
  const dataDir = tempDir();
  const clock = { now: () => 1_800_000_000_000 };
  const book = createStatusBook({ dataDir, clock, logger: silentLogger });
  book.update('home', 'publish', { generation: 7, generationAtMs: 1_700_000_000_000 });
  await book.close();
  expect(createStatusBook({ dataDir, clock, logger: silentLogger }).of('home')).toMatchObject({
    publish: { generation: 7 },
  });
  expect(createStatusBook({ dataDir, clock, logger: silentLogger }).of('home').hasStopped).toBeUndefined();
});

test('a status is fresh for 30 s, and not after the clock was set back', () => {
  const nowMs = 1_800_000_000_000;
  const status = { updatedAtMs: nowMs };
  expect(isFresh(status, nowMs + 30_000)).toBe(true);
  expect(isFresh(status, nowMs + 31_000)).toBe(false);
  // A correction of the clock by a second is normal.
  expect(isFresh(status, nowMs - 1_000)).toBe(true);
  expect(isFresh(status, nowMs - 3_600_000)).toBe(false);
});
