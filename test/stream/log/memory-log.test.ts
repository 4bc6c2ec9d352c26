import { expect, test } from 'vitest';
import { silentLogger } from '../../../src/lib/logger.ts';
import { createMemoryLog } from '../../../src/stream/log/memory-log.ts';
import { telemetryBatch } from '../../support/messages.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { testLogConformance } from './log-conformance.ts';

testLogConformance({
  name: 'memory log',
  persists: false,
  createPlace: () => ({
    open: async (options) => createMemoryLog({ ...options, bytesMax: 1e9 }),
    destroy: async () => undefined,
  }),
});

test('a full memory log drops the oldest messages and tells readers', async () => {
  const log = createMemoryLog({
    clock: createTestClock(),
    retentionMs: 3_600_000,
    bytesMax: 30_000,
    logger: silentLogger,
  });
  const { firstOffset, lastOffset } = await log.append(telemetryBatch(10));
  for (let round = 0; round < 20; round++) await log.append(telemetryBatch(10));
  // The first call after the messages were dropped already knows it.
  const afterFirst = { from: lastOffset + 1n, limit: 1, bytesMax: 1e6, oneAtLeast: true };
  expect(await log.read(afterFirst)).toMatchObject({ kind: 'expired' });
  const { earliest, next } = await log.bounds();
  expect(earliest).toBeGreaterThan(firstOffset);
  expect(next - earliest).toBeLessThan(150n);
  const outcome = await log.read({ from: firstOffset, limit: 1, bytesMax: 1e6, oneAtLeast: true });
  expect(outcome).toMatchObject({ kind: 'expired', bounds: { earliest } });
  expect(await log.countFrom(0n)).toBe(Number(next - earliest));
  await log.close();
});
