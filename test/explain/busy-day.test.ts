// @module-tag slow
import { describe, expect, test } from 'vitest';
import type { Shard } from '../../src/warehouse/shard.ts';
import { landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { shared } from '../support/shared.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';
import { handSum } from './by-hand.ts';
import { explain, linesOf, series, streams } from './explained-page.ts';

describe('a day with everything that can happen', () => {
  const meter: Array<[number, number | string]> = [
    [0, 50_000],
    [1, 51_000],
    [2, 0],
    [3, 52_500],
    [4, 52_490],
    [5, 53_000],
    [6, 5_000],
    [7, 6_000],
    [8, 90_000],
    [9, 7_000],
    [10, 990_000],
    [11, 991_000],
    [11.5, 'broken'],
    [12, 996_000],
    [13, 1_000],
    [14, 2_000],
  ];

  const busy = shared(open);
  /** Explanations by source. Undefined: of all sources together. */
  const explanations = new Map<string | undefined, ReturnType<typeof explain>>();
  /** Explains once, because an explanation takes half a second. */
  function explainSource(source?: 'meter' | 'panel' | 'old') {
    if (!explanations.has(source)) explanations.set(source, explain(busy(), source && { source }));
    return explanations.get(source)!;
  }

  async function open(): Promise<Shard> {
    const shard = await openTestShard();
    const panel: Array<[number, number]> = [
      [10, 0],
      [10.5, 400],
      [11, 400],
      [14, 400],
      [14.5, 0],
    ];
    const today: Array<[number, number]> = [
      [-1, 700],
      [0, 700],
      [5, 700],
      [6, 0],
      [12, 900],
      [24, 900],
    ];
    await landReadings(shard, [
      ...series('meter', 'total', meter),
      ...series('panel', 'power', panel),
      ...series('old', 'today', today),
    ]);
    await rollUpSite(shard, { timezone: 'Etc/UTC', streams });
    // Late readings: the end of the day, a repetition, a revised value, and one of another day.
    await landReadings(
      shard,
      series('meter', 'total', [
        [1, 51_000],
        [14, 2_500],
        [24, 3_000],
        [48, 4_000],
      ]),
    );
    await rollUpSite(shard, { timezone: 'Etc/UTC', streams });
    return shard;
  }

  test('tells each event once, in the order of time, and every Wh can be worked out by hand', async () => {
    const { explained, page } = await explainSource();
    expect(linesOf(page, 'What happened')).toEqual([
      'glitch: low at 02:00:00 (0 Wh after 51,000 Wh) and no restart: left out',
      'jitter: fell by no more than its jitter between 03:00:00 and 04:00:00; the high-water mark was held',
      'reset: started again between 05:00:00 and 06:00:00 from 53,000 to 5,000 Wh: what it shows since then counts, 5,000 Wh',
      'spike: impossibly high at 08:00:00 (90,000 Wh after 6,000 Wh): left out',
      'rebase: jumped impossibly between 09:00:00 and 10:00:00 from 7,000 to 990,000 Wh and stayed: nothing is booked',
      'rollover: passed its modulus between 12:00:00 and 13:00:00 from 996,000 to 1,000 Wh: 5,000 Wh are booked',
    ]);
    expect(linesOf(page, 'Sum')).toEqual([
      '(53,000 - 50,000) + (7,000 - 0) + (996,000 - 990,000) + (3,000 + 4,000) = 23,000 Wh',
    ]);
    for (const one of explained.sources)
      expect([one.source, handSum(one)]).toEqual([one.source, one.result!.energyWh]);
    const energies = explained.sources.map(({ source, result }) => [source, result!.energyWh]);
    expect(energies).toEqual([
      ['meter', 23_000],
      ['old', 900],
      ['panel', 400],
    ]);
    expect(page).toContain('23,000 (meter) + 900 (old) + 400 (panel) = 24,300 Wh\n');
  });

  test('shows the readings of events and stretches, and which readings were not used and why', async () => {
    const { page } = await explainSource('meter');
    const at = (line: string) => line.split(' | ').slice(0, -1).join(' | ');
    const lines = linesOf(page, 'Readings');
    expect(lines.map(at)).toEqual(
      expect.arrayContaining([
        '02:00:00 | 0 | glitch',
        '04:00:00 | 52,490 | 52,500 | jitter',
        '05:00:00 | 53,000',
        '06:00:00 | 5,000',
        '08:00:00 | 90,000 | spike',
        '10:00:00 | 990,000',
        '11:30:00 | "broken" | rejected: not a number',
        '12:00:00 | 996,000',
        '01:00:00 | 51,000 | repeated',
        '14:00:00 | 2,000 | revised',
        '14:00:00 | 2,500',
      ]),
    );
  });

  test('lists the changes between versions with their causes', async () => {
    const { page } = await explainSource('meter');
    const versions = linesOf(page, 'Versions').map((line) =>
      line.replace(/(computed|landed) \S+ [\d:]+\d/, '$1 T'),
    );
    expect(versions).toEqual([
      '1 | 22,000 Wh, computed T: 15 readings in batch 1 from stream',
      'batch 1 from stream, landed T: 15 readings of 00:00:00 to 14:00:00',
      '2 | 23,000 Wh, computed T: energy 22,000 Wh -> 23,000 Wh; coverage 54.17 % -> 95.83 %: 4 readings in batch 2 from stream, of which 3 for this day, after it was over',
      'batch 2 from stream, landed T: 4 readings of 01:00:00 to 2026-07-03 00:00:00',
    ]);
  });

  test('shows power by the hour and unmeasured time, and with --all every part', async () => {
    const { page, all } = await explainSource('panel');
    expect(linesOf(page, 'Energy by the hour')).toEqual([
      'From | To | Wh',
      '00:00:00 | 10:00:00 | 0 | not measured',
      '10:00:00 | 11:00:00 | 300',
      '11:00:00 | 14:00:00 | 0 | not measured',
      '14:00:00 | 15:00:00 | 100 | 30 min of it measured',
      '15:00:00 | 2026-07-02 00:00:00 | 0 | not measured',
    ]);
    expect(linesOf(page, 'Coverage')).toEqual([
      'measurements cover 1 h 30 min of 24 h; not 00:00:00 to 10:00:00, 11:00:00 to 14:00:00, 14:30:00 to 2026-07-02 00:00:00',
    ]);
    expect(page).not.toContain('Area under the power');
    expect(linesOf(all, 'Area under the power, cut at quarters of an hour')).toContain(
      '10:15:00 | 10:30:00 | 200 | 400 | 75',
    );
    expect(linesOf(page, 'Flags')).toEqual([
      'gap: power was not integrated over a gap',
      'partial: measurements cover only part of the day',
    ]);
  });

  test('shows for a daily register the value that it carried over from the day before', async () => {
    const { page } = await explainSource('old');
    expect(linesOf(page, 'What happened')).toEqual([
      'carry over: showed the day before from 00:00:00 to 05:00:00: no energy',
      'reset: started again between 05:00:00 and 06:00:00 from 700 to 0 Wh: what it shows since then counts, 0 Wh',
    ]);
    expect(linesOf(page, 'Sum')).toEqual(['(700 - 700) + (900 - 0) = 900 Wh']);
  });
});
