import { expect, onTestFinished, test } from 'vitest';
import { readWarehouseFacts } from '../../src/alerts/read-warehouse-facts.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { flagBits } from '../../src/rollup/flag-bits.ts';
import { noteDeviceStatus } from '../../src/warehouse/note-device-status.ts';
import { landMessages, openTestShard, storeDays } from '../publish/publish-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';

const roles = [
  { source: '*st', role: 'production' as const },
  { source: 'import', role: 'grid_import' as const },
  { device: deviceId(7), role: 'battery_discharge' as const },
];

/** An empty warehouse, and its facts. */
async function openFacts() {
  const clock = createTestClock();
  const { shard } = await openTestShard(tempDir(), { clock });
  onTestFinished(() => shard.close());
  const read = (known?: string) =>
    shard.read((connection) =>
      readWarehouseFacts(connection, {
        workgroup: { timezone: 'Etc/UTC', devices: [], roles },
        nowMs: clock.now(),
        closeAfterMs: 2 * DAY_MS - HOUR_MS,
        known,
      }),
    );
  return { clock, shard, read };
}

test('the facts of a warehouse come from its days, gaps and devices', { tags: ['slow'] }, async () => {
  const { clock, shard, read } = await openFacts();
  const empty = await read();
  expect(empty).toMatchObject({ devices: [], gaps: [], lastHour: { messages: 0 }, hasBudgets: false });
  expect(empty.days).toEqual({ idleDays: [], thinDays: [], flaggedDays: [], restatedDays: [] });

  await landMessages(shard, { count: 6, devices: 2, storeTimeMs: TEST_START_MS - 10 * MINUTE_MS });
  await storeDays(shard, [
    // The day before TEST_START_MS, 2026-11-20.
    { day: '2026-11-19', device: 1, energyWh: 0 },
    { day: '2026-11-19', device: 2, energyWh: 5 },
    { day: '2026-11-19', device: 3, energyWh: 7 },
    // A register that is alone in its source, and a register with neighbours that also stand still.
    { day: '2026-11-19', device: 4, source: 'heater', energyWh: 0 },
    // Roofs are compared with each other because they have the same role. A battery and a meter at the grid
    // can rest.
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

test('days are looked at for eight days after they end or become final, and changes for two days', async () => {
  const { shard, read } = await openFacts();
  const flags = flagBits.rebase | flagBits.partial | flagBits.estimated | flagBits.jitter | flagBits.gap;
  // Today is 2026-11-20. A day is final two days after its end.
  await storeDays(shard, [
    { day: '2026-11-12', device: 1, energyWh: 5, flags },
    { day: '2026-11-11', device: 1, energyWh: 5, flags },
    { day: '2026-11-10', device: 1, energyWh: 5 },
    { day: '2026-11-09', device: 1, energyWh: 5 },
  ]);
  const HISTORY =
    'INSERT INTO daily_energy_history (day, device, source, energy_wh, version, computed_at_ms, batch_id, status)';
  await shard.transaction(async (connection) => {
    // A day that is not final can still get its readings.
    await connection.run("UPDATE daily_energy SET coverage = 0.5 WHERE day <= DATE '2026-11-11'");
    await connection.run("UPDATE daily_energy SET status = 'final' WHERE day <= DATE '2026-11-10'");
    for (const [day, beforeWh, afterWh, agoMs] of [
      ['2026-11-05', 1, 2, 2 * DAY_MS],
      ['2026-11-06', 1, 2, 2 * DAY_MS + 1],
      // Only its method has changed.
      ['2026-11-07', 3, 3, HOUR_MS],
    ] as const)
      await connection.run(`${HISTORY} VALUES
        (DATE '${day}', UUID '${deviceId(1)}', 'inverter', ${beforeWh}, 1, 0, 1, 'final'),
        (DATE '${day}', UUID '${deviceId(1)}', 'inverter', ${afterWh}, 2, ${TEST_START_MS - agoMs}, 1, 'restated')`);
  });
  const { thinDays, flaggedDays, restatedDays } = (await read()).days!;
  const at = (text: string) => Date.parse(`${text}Z`);
  expect(thinDays).toMatchObject([{ day: '2026-11-10', seenUntilMs: at('2026-11-20T00:00') }]);
  expect(flaggedDays).toMatchObject([
    { day: '2026-11-12', flag: 'rebase', seenUntilMs: at('2026-11-20T00:00') },
  ]);
  expect(restatedDays).toMatchObject([{ day: '2026-11-05', seenUntilMs: TEST_START_MS }]);
});

test('a device with readings for less than half of the day is not idle', async () => {
  const { shard, read } = await openFacts();
  await storeDays(shard, [
    { day: '2026-11-19', device: 1, source: 'shed', energyWh: 0 },
    { day: '2026-11-19', device: 2, source: 'shed', energyWh: 5 },
    { day: '2026-11-19', device: 1, source: 'barn', energyWh: 0 },
    { day: '2026-11-19', device: 2, source: 'barn', energyWh: 5 },
  ]);
  await shard.transaction(async (connection) => {
    await connection.run("UPDATE daily_energy SET coverage = if(source = 'shed', 0.5, 0.49)");
  });
  expect((await read()).days!.idleDays).toMatchObject([{ source: 'shed' }]);
});

test('messages of the last hour and the last sign of a device come from the stream, without imports', async () => {
  const { clock, shard, read } = await openFacts();
  await landMessages(shard, { count: 3, devices: 1, storeTimeMs: TEST_START_MS - 10 * MINUTE_MS });
  await shard.transaction((connection) => noteDeviceStatus(connection, clock.now()));
  await landMessages(shard, { count: 2, devices: 1, storeTimeMs: TEST_START_MS, origin: 'import:a' });
  const { lastHour, devices } = await read();
  expect(lastHour).toEqual({ messages: 3, quarantined: 0 });
  expect(devices).toEqual([{ device: deviceId(0), lastSeenMs: TEST_START_MS - 10 * MINUTE_MS }]);
  await clock.advance(HOUR_MS);
  expect((await read()).lastHour).toEqual({ messages: 0, quarantined: 0 });
});

test('the last sign of a device is data of its own, and never in the time to come', async () => {
  const { shard, read } = await openFacts();
  const [longAgoMs, toComeMs] = [TEST_START_MS - DAY_MS, TEST_START_MS + HOUR_MS];
  await landMessages(shard, { count: 3, devices: 3, storeTimeMs: toComeMs });
  await shard.transaction(async (connection) => {
    await connection.run(`UPDATE message SET kind = 1 WHERE device = '${deviceId(2)}'`);
    // Device 1 has only said that it is offline.
    await connection.run(`INSERT INTO device_state (device, last_seen_ms) VALUES
      ('${deviceId(0)}', ${longAgoMs}), ('${deviceId(1)}', NULL), ('${deviceId(2)}', ${longAgoMs})`);
  });
  expect((await read()).devices).toEqual([
    { device: deviceId(0), lastSeenMs: TEST_START_MS },
    { device: deviceId(2), lastSeenMs: longAgoMs },
  ]);
});

test('a restated day is compared with the version of its own source, and the newest gap comes first', async () => {
  const { shard, read } = await openFacts();
  const version = (source: string, energyWh: number, number: number, status: string) =>
    `(DATE '2026-11-05', UUID '${deviceId(1)}', '${source}', ${energyWh}, ${number}, ${TEST_START_MS - HOUR_MS}, 1, '${status}')`;
  await shard.transaction(async (connection) => {
    await connection.run(`INSERT INTO daily_energy_history (day, device, source, energy_wh, version, computed_at_ms, batch_id, status)
      VALUES ${version('east', 10, 1, 'final')}, ${version('west', 20, 2, 'restated')}, ${version('east', 30, 3, 'restated')}`);
    await connection.run(`INSERT INTO gap (gap_id, origin, reason, from_time_ms, to_time_ms, detected_at_ms)
      VALUES (1, 'stream', 'expired', 1, 2, 3), (2, 'stream', 'expired', 1, 2, 3)`);
  });
  const { days, gaps } = await read();
  expect(days!.restatedDays.map(({ source, beforeWh, afterWh }) => [source, beforeWh, afterWh])).toEqual([
    ['east', 10, 30],
    ['west', null, 20],
  ]);
  expect(gaps.map(({ gapId }) => gapId)).toEqual([2, 1]);
});

test('a workgroup has budgets until all of them were replaced', async () => {
  const { shard, read } = await openFacts();
  const store = (replacedBy: number | null) =>
    shard.transaction(async (connection) => {
      await connection.run(
        `INSERT INTO budget VALUES ('M', DATE '2026-11-01', DATE '2026-11-30', 5, 'P50', 1, 0, ${replacedBy}, 1)`,
      );
    });
  await store(2);
  expect((await read()).hasBudgets).toBe(false);
  await store(null);
  expect((await read()).hasBudgets).toBe(true);
});
