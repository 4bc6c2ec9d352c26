import { expect, onTestFinished, test } from 'vitest';
import { readWarehouseFacts } from '../../src/alerts/read-warehouse-facts.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { flagBits } from '../../src/rollup/flag-bits.ts';
import { noteDeviceStatus } from '../../src/warehouse/note-device-status.ts';
import { landMessages, openTestShard, storeDays } from '../publish/publish-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';

test('the facts of a warehouse are those of its days, gaps and devices', async () => {
  const clock = createTestClock();
  const roles = [
    { source: '*st', role: 'production' as const },
    { source: 'import', role: 'grid_import' as const },
    { device: deviceId(7), role: 'battery_discharge' as const },
  ];
  const { shard } = await openTestShard(tempDir(), { clock });
  onTestFinished(() => shard.close());
  const read = (known?: string) =>
    shard.read((connection) =>
      readWarehouseFacts(connection, {
        workgroup: { timezone: 'Etc/UTC', devices: [], roles },
        nowMs: clock.now(),
        closeAfterMs: 2 * DAY_MS,
        known,
      }),
    );
  const empty = await read();
  expect(empty).toMatchObject({ devices: [], gaps: [], lastHour: { messages: 0 }, hasBudgets: false });
  expect(empty.days).toEqual({ idleDays: [], thinDays: [], flaggedDays: [], restatedDays: [] });

  await landMessages(shard, { count: 6, devices: 2, storeTimeMs: TEST_START_MS - 10 * MINUTE_MS });
  await storeDays(shard, [
    // The day before TEST_START_MS, 2026-11-20.
    { day: '2026-11-19', device: 1, energyWh: 0 },
    { day: '2026-11-19', device: 2, energyWh: 5 },
    { day: '2026-11-19', device: 3, energyWh: 7 },
    // A register that is alone in its source, and one whose neighbours rest too.
    { day: '2026-11-19', device: 4, source: 'heater', energyWh: 0 },
    // Roofs are alike by their role. A battery and a meter at the grid can rest.
    { day: '2026-11-19', device: 5, source: 'east', energyWh: 0 },
    { day: '2026-11-19', device: 6, source: 'west', energyWh: 9 },
    { day: '2026-11-19', device: 5, source: 'import', energyWh: 0 },
    { day: '2026-11-19', device: 6, source: 'import', energyWh: 9 },
    { day: '2026-11-19', device: 7, energyWh: 0 },
    { day: '2026-11-18', device: 2, energyWh: 5, flags: flagBits.substituted | flagBits.partial },
    { day: '2026-11-10', device: 2, energyWh: 5, flags: flagBits.rebase },
    { day: '2026-11-15', device: 3, energyWh: 5 },
    { day: '2026-11-14', device: 3, energyWh: 5, version: 2 },
  ]);
  await shard.transaction(async (connection) => {
    await noteDeviceStatus(connection, clock.now());
    await connection.run(
      "UPDATE daily_energy SET coverage = 0.5, status = 'final' WHERE day = DATE '2026-11-15'",
    );
    await connection.run(`INSERT INTO daily_energy_history (day, device, source, energy_wh, version, computed_at_ms, batch_id, status)
      SELECT day, device, source, 4, 1, ${TEST_START_MS - 9 * DAY_MS}, 1, 'final' FROM daily_energy WHERE day = DATE '2026-11-14'
      UNION ALL
      SELECT day, device, source, 5, 2, ${TEST_START_MS - HOUR_MS}, 1, 'restated' FROM daily_energy WHERE day = DATE '2026-11-14'`);
    await connection.run(`INSERT INTO gap (gap_id, origin, reason, from_time_ms, to_time_ms, detected_at_ms, closed_at_ms)
      VALUES (1, 'stream', 'expired', 1, 2, 3, 4), (2, 'stream', 'expired', 10, 20, 30, NULL)`);
  });
  // No publication has noted this message yet.
  await landMessages(shard, { count: 1, devices: 1, storeTimeMs: TEST_START_MS });
  const facts = await read(empty.daysToken);
  expect(facts.devices).toEqual([
    { device: deviceId(0), lastSeenMs: TEST_START_MS },
    { device: deviceId(1), lastSeenMs: TEST_START_MS - 10 * MINUTE_MS },
  ]);
  expect(facts.gaps).toEqual([{ gapId: 2, reason: 'expired', fromMs: 10, toMs: 20 }]);
  expect(facts.lastHour).toEqual({ messages: 7, quarantined: 0 });
  const at = (day: string, device: number, source = 'inverter') => ({
    day,
    device: deviceId(device),
    source,
    seenUntilMs: expect.any(Number),
  });
  expect(facts.days).toEqual({
    idleDays: [
      { ...at('2026-11-19', 1), siblings: 2 },
      { ...at('2026-11-19', 5, 'east'), siblings: 1 },
    ],
    thinDays: [{ ...at('2026-11-15', 3), coverage: 0.5 }],
    flaggedDays: [{ ...at('2026-11-18', 2), flag: 'substituted' }],
    restatedDays: [{ ...at('2026-11-14', 3), version: 2, beforeWh: 4, afterWh: 5 }],
  });
  expect((await read(facts.daysToken)).days).toBeUndefined();
  await clock.advance(DAY_MS);
  expect((await read(facts.daysToken)).days?.idleDays).toEqual([]);
});
