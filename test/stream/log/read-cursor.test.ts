import { expect, test } from 'vitest';
import type { Offset } from '../../../src/contract/offset.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { createMemoryLog } from '../../../src/stream/log/memory-log.ts';
import { openCursor } from '../../../src/stream/log/read-cursor.ts';
import { telemetryBatch } from '../../support/messages.ts';
import { createTestClock, TEST_START_MS } from '../../support/test-clock.ts';

const RETENTION_MS = 3_600_000;

test('a reader from before the retention starts again if the log is created anew after its start was resolved', async () => {
  const clock = createTestClock();
  const createLog = () =>
    createMemoryLog({ clock, retentionMs: RETENTION_MS, bytesMax: 1e6, logger: silentLogger });
  const [before, after] = [createLog(), createLog()];
  await before.append(telemetryBatch(3));
  let log = before;
  const start = { kind: 'timestamp', timestampMs: TEST_START_MS - 2 * RETENTION_MS } as const;
  const cursor = await openCursor(before, start, { clock, retentionMs: RETENTION_MS });
  const seen: string[] = [];
  const read = async (from: Offset | 'oldest') => {
    const offset = from === 'oldest' ? (await log.bounds()).earliest : from;
    log = after;
    const outcome = await log.read({ from: offset, limit: 10, bytesMax: 1e6, oneAtLeast: true });
    seen.push(outcome.kind);
    return outcome;
  };
  const { epoch } = await after.bounds();
  expect(await cursor.read(read, { mayRestart: true })).toMatchObject({ kind: 'batch', bounds: { epoch } });
  expect(seen).toEqual(['ahead', 'batch']);
  expect(cursor.clamped).toBe('retention');
});

test('a start at this moment, or at the retention, is read from there, and a start beyond either is moved', async () => {
  const clock = createTestClock();
  const log = createMemoryLog({ clock, retentionMs: RETENTION_MS, bytesMax: 1e6, logger: silentLogger });
  await log.append(telemetryBatch(3));
  const movedFrom = async (timestampMs: number) =>
    (await openCursor(log, { kind: 'timestamp', timestampMs }, { clock, retentionMs: RETENTION_MS })).clamped;
  expect(await movedFrom(TEST_START_MS)).toBe(undefined);
  expect(await movedFrom(TEST_START_MS + 1)).toBe('future');
  expect(await movedFrom(TEST_START_MS - RETENTION_MS)).toBe(undefined);
  expect(await movedFrom(TEST_START_MS - RETENTION_MS - 1)).toBe('retention');
});
