// @module-tag slow
import { expect, test } from 'vitest';
import { DEVICE, landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { isSoak } from '../support/rounds.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';
import { DAY, explain, linesOf, series, streams } from './explained-page.ts';

test('a day without events is short', async () => {
  const shard = await openTestShard();
  const hours = Array.from({ length: 97 }, (_, index): [number, number] => [index / 4, 5_000 + 10 * index]);
  await landReadings(shard, series('roof', 'total', hours));
  await rollUpSite(shard, { timezone: 'Etc/UTC', streams });
  const { page, all } = await explain(shard);
  expect(page.split('\n').length).toBeLessThan(45);
  expect(page).not.toMatch(/What happened|Flags|rounded/);
  expect(linesOf(page, 'Readings')).toEqual([
    'Time | Wh',
    '00:00:00 | 5,000',
    '00:15:00 | 5,010',
    '... | 93 more readings (--all shows them)',
    '23:45:00 | 5,950',
    '2026-07-02 00:00:00 | 5,960',
    expect.stringMatching(/^all landed \S+ \S+, batch 1$/),
  ]);
  expect(linesOf(all, 'Readings')).toHaveLength(99);
  expect(linesOf(page, 'Fields, in the order of the configuration').at(-1)).toBe(
    'without readings of this source: t.today; t.power',
  );
  for (const line of page.split('\n')) expect(line).toBe(line.trimEnd());
});

// report/explain.test.ts has a day without data.
test.runIf(isSoak)('a day far from all readings is answered at once', async () => {
  const shard = await openTestShard();
  await landReadings(
    shard,
    series('roof', 'total', [
      [0, 0],
      [24, 500],
    ]),
  );
  await rollUpSite(shard, { timezone: 'Etc/UTC', streams });
  for (const day of ['0001-01-02', '1969-12-31', '2026-05-01', '2026-09-01']) {
    const { explained, page } = await explain(shard, { day });
    expect(explained).toMatchObject({ outcome: 'no_readings', energyWh: null, sources: [] });
    expect(page.split('\n').at(-2)).toBe(
      day < DAY ? `the next day with energy is ${DAY}` : `the last day with energy before it is ${DAY}`,
    );
  }
});

test('a reading at midnight belongs to the day that begins, so the day before has no readings', async () => {
  const shard = await openTestShard();
  await landReadings(
    shard,
    series('roof', 'total', [
      [0, 0],
      [1, 500],
    ]),
  );
  await rollUpSite(shard, { timezone: 'Etc/UTC', streams });
  const { explained } = await explain(shard, { day: '2026-06-30' });
  expect(explained).toMatchObject({ outcome: 'no_readings', energyWh: null, sources: [] });
  expect((await explain(shard)).explained).toMatchObject({ outcome: 'explained', energyWh: 500 });
});

// device.test.ts has the sources that do not count, with their reasons.
test.runIf(isSoak)(
  'sources that do not count for the device are listed last, with the command that shows them',
  async () => {
    const shard = await openTestShard();
    const values = (factor: number): Array<[number, number]> => [
      [0, 0],
      [24, factor * 1_000],
    ];
    await landReadings(shard, [
      ...series('cellar', 'total', values(1)),
      ...series('the roof', 'total', values(2)),
      ...series('total', 'total', values(4)),
    ]);
    const devices = [{ id: DEVICE, name: 'house', totalSource: 'total' }];
    await rollUpSite(shard, { timezone: 'Etc/UTC', streams });
    const { explained, page } = await explain(shard, {}, devices);
    expect(page).toMatch(
      /^house \(00000000-0000-4000-8000-000000000001\), 2026-07-01, Etc\/UTC, 24 h\n4,000 Wh\n/,
    );
    expect(page.match(/^Source .*?: \S+ Wh/gm)).toEqual([
      'Source total: 4,000 Wh',
      'Source cellar: 1,000 Wh',
      'Source the roof: 2,000 Wh',
    ]);
    expect(page.match(/--source .*/g)).toEqual([
      '--source cellar explains it',
      "--source 'the roof' explains it",
    ]);
    expect(explained.sources).toHaveLength(3);
  },
);

test('a version without new readings says what changed it', async () => {
  const shard = await openTestShard();
  await landReadings(
    shard,
    series('roof', 'total', [
      [0, 0],
      [24, 500],
    ]),
  );
  await rollUpSite(shard, { timezone: 'Etc/UTC', streams });
  const doubled = streams.map((stream) => ({ ...stream, multiplier: 2 }));
  await rollUpSite(shard, { timezone: 'Etc/UTC', streams: doubled });
  const { page } = await explain(shard);
  expect(linesOf(page, 'Versions').at(-1)).toMatch(
    /^2 \| 1,000 Wh, computed .*: energy 500 Wh -> 1,000 Wh: no reading came; changed settings$/,
  );
});
