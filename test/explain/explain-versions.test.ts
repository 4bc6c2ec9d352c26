import { expect, test } from 'vitest';
import { readVersions } from '../../src/explain/explain-versions.ts';
import { timeOfDayFormat } from '../../src/explain/explain-words.ts';
import type { ExplainedCorrection } from '../../src/explain/explained-schema.ts';
import { DAY_MS, formatInstant, HOUR_MS } from '../../src/lib/time.ts';
import { deviceId } from '../support/messages.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';

const startMs = Date.UTC(2026, 10, 20);
const endMs = startMs + DAY_MS;
const key = { device: deviceId(1), source: 'pv' };
const day = { day: '2026-11-20', startMs, endMs, clock: timeOfDayFormat('2026-11-20', 'UTC') };
const correction = {
  id: 7,
  author: 'ann',
  reason: 'a wrong meter',
  at: formatInstant(endMs + 5),
} as ExplainedCorrection;

test('each version says what changed, and which readings, correction or setting changed it', async () => {
  const shard = await openTestShard();
  const connection = await shard.connect();
  /** A batch that landed in an hour of the day, with readings at these hours of it. */
  const land = async (batch: number, origin: string, landedHour: number, hours: readonly number[]) => {
    await connection.run(
      `INSERT INTO batch (batch_id, origin, message_count, quarantined_count, landed_at_ms)
       VALUES (${batch}, '${origin}', 1, 0, ${startMs + landedHour * HOUR_MS})`,
    );
    for (const hour of hours)
      await connection.run(
        `INSERT INTO reading (series_id, event_time_ms, value, batch_id) VALUES (1, ${startMs + hour * HOUR_MS}, 1, ${batch})`,
      );
  };
  /** @param causes null for versions of releases that did not store them */
  const version = (number: number, batch: number, wh: number, facts: string, causes: string | null) =>
    connection.run(
      `INSERT INTO daily_energy_history (day, device, source, energy_wh, method, flags, coverage, version, computed_at_ms, batch_id, causes)
       VALUES ('${day.day}', '${key.device}', 'pv', ${wh}, ${facts}, ${number}, ${endMs + number}, ${batch}, ${causes})`,
    );
  try {
    await connection.run(
      `CREATE TEMP TABLE series_rule AS SELECT 1 AS series_id, '${key.device}'::UUID AS device, 'pv' AS source`,
    );
    await land(1, 'stream', 12, [0, 6]);
    await version(1, 1, 1_000, `'total_energy', 0, 0.5`, null);
    await land(2, 'stream', 25, [12, 30]);
    await version(2, 2, 1_100, `'power_curve', 1, 0.75`, `['stream']`);
    await land(3, 'import', 50, [40, 41]);
    await version(3, 3, 1_100, `'power_curve', 0, 0.75`, `['import', 'configuration']`);
    for (let batch = 4; batch <= 24; batch++) await land(batch, 'stream', 51, [13 + batch / 100]);
    await land(25, 'import', 51, [60]);
    await version(4, 25, 1_200, `'power_curve', 0, 0.75`, `['stream']`);
    await version(5, 25, 1_300, `'power_curve', 0, 0.75`, `['correction']`);
    await version(6, 25, 1_400, `'power_curve', 0, 0.75`, `['correction']`);
    await version(7, 25, 1_500, `'power_curve', 0, 0.75`, null);
    await version(8, 25, 1_600, `'power_curve', 0, 0.75`, `['rules', 'stream']`);
    const bracket = { fromMs: startMs, toMs: endMs };
    const versions = await readVersions(connection, key, day, bracket, {
      flagNames: (bits) => (bits === 1 ? ['partial'] : []),
      corrections: [correction],
    });
    expect(versions.map(({ text }) => text)).toEqual([
      '2 readings in batch 1 from stream',
      'energy 1,000 Wh -> 1,100 Wh; method total_energy -> power_curve; flag partial came; coverage 50 % -> 75 %: 2 readings in batch 2 from stream, of which 1 for this day, after it was over',
      'flag partial went: 2 readings in batch 3 from import, not of this day, changed what had happened before; changed settings',
      'energy 1,100 Wh -> 1,200 Wh: 21 readings in 21 batches from stream, after the day was over',
      'energy 1,200 Wh -> 1,300 Wh: correction 7 by ann: a wrong meter',
      'energy 1,300 Wh -> 1,400 Wh: a correction of another day or source',
      'energy 1,400 Wh -> 1,500 Wh: no reading came; the settings, or limits that are learnt, had changed',
      'energy 1,500 Wh -> 1,600 Wh: no reading came; other rules of another version of Wattline',
    ]);
    // At most 20 batches are listed.
    expect([versions[3]!.batches, versions[3]!.causes.length]).toEqual([21, 20]);
  } finally {
    connection.closeSync();
  }
});
