// @module-tag slow
import { expect, test } from 'vitest';
import type { ExplainedSource } from '../../src/explain/explained-schema.ts';
import { landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { sampled } from '../support/rounds.ts';
import { shared } from '../support/shared.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';
import { handSum } from './by-hand.ts';
import { explain, linesOf, series, streams } from './explained-page.ts';

test('repeated hours of a clock change are distinguished', async () => {
  const shard = await openTestShard();
  const readings = Array.from({ length: 27 }, (_, index) => ({
    event_time: new Date(Date.parse('2026-10-24T21:30:00Z') + index * 3_600_000).toISOString(),
    source: 'roof',
    data: { total: 1_000 * index },
  }));
  await landReadings(shard, readings);
  await rollUpSite(shard, { timezone: 'Europe/Paris', streams });
  const { explained, page, all } = await explain(shard, { day: '2026-10-25', timezone: 'Europe/Paris' });
  expect(explained.energyWh).toBe(25_000);
  expect(page).toContain('Europe/Paris, 25 h\n25,000 Wh\n');
  const times = linesOf(all, 'Readings').map((line) => line.split(' | ')[0]);
  expect(times.slice(1, 6)).toEqual([
    '2026-10-24 23:30:00+02:00',
    '00:30:00+02:00',
    '01:30:00+02:00',
    '02:30:00+02:00',
    '02:30:00+01:00',
  ]);
  expect(linesOf(page, 'Index where the day begins and ends (Wh)')[0]).toBe(
    '00:00:00+02:00 | 500 | interpolated | 0 + (1,000 - 0) x 1,800 s / 3,600 s',
  );
});

/** What the register of a source grows by in 24 silent hours, and what its index is at midnight. */
const shapes: Array<[source: string, grownWh: number, midnightWh: number, formula: string]> = [
  // Power brings 4000 Wh in 12 of the 24 silent hours, 2000 of them in the last four before midnight.
  ['all', 4_000, 2_000, '0 + (4,000 - 0) x 2,000 / 4,000: '],
  ['most', 5_000, 2_666.667, '0 + 2,000 + (5,000 - 4,000) x (43,200 s - 14,400 s) / (86,400 s - 43,200 s): '],
  [
    'less than three quarters',
    10_000,
    5_833.333,
    '0 + (10,000 - 0) x (43,200 s - 14,400 s + 43,200 s x 2,000 / 4,000) / 86,400 s: ',
  ],
];

const day = shared(async () => {
  const shard = await openTestShard();
  const hours = Array.from({ length: 25 }, (_, hour) => hour);
  await landReadings(shard, [
    ...shapes.flatMap(([source, grownWh]) => [
      ...series(source, 'total', [
        [12, 0],
        [36, grownWh],
      ]),
      ...series(source, 'power', [
        [20, 0],
        [21, 2_000],
        [22, 0],
        [30, 0],
        [31, 2_000],
        [32, 0],
      ]),
    ]),
    ...series(
      'meter',
      'total',
      hours.map((hour) => [hour, 5_000 + hour]),
    ),
    ...series(
      'meter',
      'power',
      hours.map((hour) => [hour, 1_000]),
    ),
    ...series(
      'fallen',
      'total',
      hours.map((hour) => [hour, (hour <= 10 ? 500_000 : 400_000) + 100 * hour]),
    ),
    ...series('single', 'total', [[5, 1_000]]),
    ...series('panel', 'power', [
      ...hours.map((hour): [number, number] => [hour, 400]),
      [12.5, 9e6],
      [12.6, -9e6],
    ]),
  ]);
  await rollUpSite(shard, {
    timezone: 'Etc/UTC',
    streams: streams.map((one) => (one.field === 'power' ? { ...one, maxPower: '20 kW' } : one)),
  });
  return shard;
});

test.each(sampled(shapes, 2))(
  'a shape that follows power, which explains %s of the growth, can be worked out by hand',
  async (source, _, midnightWh, formula) => {
    const { explained, page } = await explain(day(), { source });
    expect(linesOf(page, 'Index where the day begins and ends (Wh)')[1]).toContain(formula);
    expect(explained.sources[0]!.boundaries!.end.indexWh!).toBeCloseTo(midnightWh, 3);
    expect(explained.energyWh).toBe(Math.round(midnightWh));
  },
);

test('impossible power and the contradicted method are shown with the limit', async () => {
  const meter = await explain(day(), { source: 'meter' });
  expect(meter.explained.sources[0]?.flags).toEqual([
    {
      flag: 'contradicted',
      meaning: 'another method that covers the day measured something else, by more than a tenth',
      reason: 't.power (power_curve) says 24,000 Wh',
      spans: [],
    },
  ]);
  expect(meter.page).toContain('t.power (power_curve) says 24,000 Wh');
  const panel = await explain(day(), { source: 'panel' });
  expect(linesOf(panel.page, 'What happened')).toEqual([
    'spike: impossibly high from 12:30:00 to 12:36:00 (9,000,000 W after 400 W): left out',
  ]);
  expect(panel.explained.sources[0]?.limits).toMatchObject({
    maxPowerW: { value: 20_000, from: 'configured' },
  });
  expect(panel.explained.sources[0]?.readings.filter(({ fate }) => fate === 'spike')).toHaveLength(2);
  expect([panel.explained.sources[0]?.result?.energyWh, handSum(panel.explained.sources[0]!)]).toEqual([
    9_600, 9_600,
  ]);
});

test('the time in which a register falls to another value is not covered', async () => {
  const { explained, page } = await explain(day(), { source: 'fallen' });
  const [fallen] = explained.sources;
  expect(fallen!.events.map(({ kind }) => kind)).toEqual(['rebase']);
  expect(fallen!.coverage).toEqual({
    coveredMilliseconds: 23 * 3_600_000,
    uncovered: [{ from: '2026-07-01T10:00:00.000Z', to: '2026-07-01T11:00:00.000Z' }],
    text: 'measurements cover 23 h of 24 h; not 10:00:00 to 11:00:00',
  });
  expect(page).toContain('not 10:00:00 to 11:00:00');
  expect([explained.energyWh, handSum(fallen!)]).toEqual([2_300, 2_300]);
});

test('readings without energy agree with what is stored', async () => {
  const { explained, page } = await explain(day(), { source: 'single' });
  const [{ result, sum }] = explained.sources as [ExplainedSource];
  expect([explained.energyWh, result, sum.energyWh, sum.agrees]).toEqual([null, null, 0, true]);
  expect(page).not.toContain('Please report it');
});

test('the day of a warehouse without energy streams is that of the workgroup', async () => {
  const { explained } = await explain(await openTestShard(), { timezone: 'Europe/Paris' });
  expect(explained).toMatchObject({
    ...{ outcome: 'unknown_device', timezone: 'Europe/Paris', start: '2026-06-30T22:00:00.000Z', hours: 24 },
    ...{ wholeDevice: null, sources: [], known: [], nearestDays: { before: null, after: null } },
  });
});

test('a source without readings, energy and versions of a day is not shown, although it is near', async () => {
  const { explained } = await explain(day(), { day: '2026-07-03' });
  expect(explained).toMatchObject({ outcome: 'no_readings', sources: [], energyWh: null });
  expect(explained.nearestDays).toEqual({ before: '2026-07-02', after: null });
});
