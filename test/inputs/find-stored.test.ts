import { expect, onTestFinished, test } from 'vitest';
import { encodeMessages } from '../../src/contract/encode-messages.ts';
import type { TelemetryItem } from '../../src/contract/messages.ts';
import { findStored, type Sought } from '../../src/inputs/find-stored.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { MINUTE_MS } from '../../src/lib/time.ts';
import { rangeConstants } from '../../src/rollup/range-constants.ts';
import { createMemoryLog } from '../../src/stream/log/memory-log.ts';
import { deviceId } from '../support/messages.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';

/** A log with one reading. The clock of its device is fast by `aheadMs`. */
async function setUp({ aheadMs = 0, source = 'roof' as string | null } = {}) {
  const clock = createTestClock();
  const log = createMemoryLog({ clock, retentionMs: 60 * MINUTE_MS, bytesMax: 1e6, logger: silentLogger });
  onTestFinished(() => log.close());
  const item: TelemetryItem = {
    device: deviceId(1),
    source,
    event_time: TEST_START_MS + aheadMs,
    data: { total_wh: 5 },
  };
  await log.append(encodeMessages([item], 'solar'));
  const stored = (sought: Sought) => findStored(log, [sought], clock.now());
  return { clock, item, isStored: async (sought: Sought) => (await stored(sought)).has(sought) };
}

test('a reading is found again by its table, device, source, time and values', async () => {
  const { item, isStored } = await setUp();
  expect(await isStored({ table: 'solar', item: { ...item } })).toBe(true);
  expect(await isStored({ table: 'wind', item })).toBe(false);
  const others: Array<Partial<TelemetryItem>> = [
    { device: deviceId(2) },
    { source: 'garage' },
    { source: null },
    { event_time: item.event_time + 1 },
    { data: { total_wh: 6 } },
    { data: { total_wh: 5, power_w: 1 } },
  ];
  for (const other of others)
    expect(await isStored({ table: 'solar', item: { ...item, ...other } }), JSON.stringify(other)).toBe(
      false,
    );
});

test('a reading without a source is found again, and is not taken for a reading of a source', async () => {
  const { item, isStored } = await setUp({ source: null });
  expect(await isStored({ table: 'solar', item: { ...item } })).toBe(true);
  expect(await isStored({ table: 'solar', item: { ...item, source: 'roof' } })).toBe(false);
});

test('every reading that is not from the future for the rules is found again', async () => {
  const { clock, item, isStored } = await setUp({ aheadMs: rangeConstants.future_ms.value });
  await clock.advance(rangeConstants.future_ms.value);
  expect(await isStored({ table: 'solar', item })).toBe(true);
});

test('a reading of a device with a fast clock is found again, although it was stored before its time', async () => {
  const { clock, item, isStored } = await setUp({ aheadMs: 15 * MINUTE_MS });
  await clock.advance(20 * MINUTE_MS);
  expect(await isStored({ table: 'solar', item })).toBe(true);
});
