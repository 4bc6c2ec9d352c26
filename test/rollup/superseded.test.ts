// @module-tag slow
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { deviceOf } from './many-streams.ts';
import { energyByDay, landReadings, rollUpSite } from './rollup-fixture.ts';

const site = {
  timezone: 'Etc/UTC',
  streams: [{ table: 't', field: 'e', method: 'total_energy', unit: 'Wh' }],
} as const;
const at = (time: string, e: number) => ({ event_time: `2026-11-18T${time}:00Z`, data: { e } });

test('readings that do not count are stored as superseded, in any order of arrival', async () => {
  const shard = await openTestShard();
  // In one roll-up: a repetition and a revision.
  await landReadings(shard, [at('01:00', 100), at('02:00', 140), at('02:00', 140), at('02:00', 150)]);
  await rollUpSite(shard, site);
  // Later: a repetition and a revision of what is stored.
  await landReadings(shard, [at('01:00', 100), at('02:00', 160)]);
  await rollUpSite(shard, site);
  expect(await energyByDay(shard)).toEqual({ '2026-11-18': 60 });
  const columns = 'event_time_ms // 3600000 % 24 AS hour, value, batch_id::INTEGER AS batch';
  expect(await rowsOf(shard, `SELECT ${columns} FROM superseded_reading ORDER BY ALL`)).toEqual([
    { hour: 1n, value: 100, batch: 1 },
    { hour: 2n, value: 140, batch: 1 },
    { hour: 2n, value: 140, batch: 1 },
    { hour: 2n, value: 150, batch: 1 },
  ]);
  expect(await rowsOf(shard, `SELECT ${columns} FROM reading ORDER BY ALL`)).toEqual([
    { hour: 1n, value: 100, batch: 2 },
    { hour: 2n, value: 160, batch: 2 },
  ]);
});

test('of several readings of one instant the highest message id counts, then the last one of the stream, in any parts', async () => {
  const PARTS = 4;
  const reading = fc.record({
    value: fc.integer({ min: 1, max: 3 }),
    msg_id: fc.option(fc.constantFrom(1, 2), { nil: undefined }),
    part: fc.nat(PARTS - 1),
    again: fc.option(fc.nat(PARTS - 1), { nil: undefined, freq: 3 }),
  });
  const devices = fc.sample(fc.array(reading, { minLength: 2, maxLength: 6 }), { numRuns: 400, seed: 1 });
  const shard = await openTestShard();
  for (let part = 0; part < PARTS; part += 1) {
    const messages = devices.flatMap((readings, device) =>
      readings.flatMap(({ value, msg_id, part: first, again }, place) =>
        first === part || again === part
          ? [
              {
                ...at('02:00', value),
                device: deviceOf(device),
                offset: BigInt(device * 100 + place),
                ...(msg_id && { msg_id }),
              },
            ]
          : [],
      ),
    );
    await landReadings(shard, messages);
    await rollUpSite(shard, site);
  }
  const wanted = devices.map((readings) => {
    const rank = ({ msg_id }: (typeof readings)[number], place: number) => (msg_id ?? 0) * 10 + place;
    const best = Math.max(...readings.map(rank));
    return readings.find((one, place) => rank(one, place) === best)!.value;
  });
  const rows = await rowsOf(shard, 'SELECT value FROM reading JOIN series USING (series_id) ORDER BY device');
  expect(rows.map(({ value }) => value)).toEqual(wanted);
});
