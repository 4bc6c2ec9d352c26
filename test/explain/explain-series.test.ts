import { expect, test } from 'vitest';
import { energyStreamSchema } from '../../src/config/energy-stream.ts';
import { percentText, streamsOf } from '../../src/explain/explain-series.ts';

const DAY_MS = 86_400_000;
const day = {
  day: '2026-11-18',
  startMs: Date.UTC(2026, 10, 18),
  endMs: Date.UTC(2026, 10, 19),
  clock: (ms: number) => new Date(ms).toISOString().slice(11, 19),
};
const configured = ['total', 'today'].map((field, position) => ({
  ...energyStreamSchema.parse({ table: 'solar', field, method: 'total_energy' }),
  position,
  timezone: 'Etc/UTC',
  streamId: position,
}));

/** The reasons of both streams. Undefined: the stream has no energy on the day. */
function reasonsOf(coverages: Array<number | undefined>, chosen: number): string[] {
  const series = configured.map(({ streamId, field }) => ({
    table: 'solar',
    method: 'total_energy' as const,
    seriesId: streamId,
    streamId,
    field,
    device: '',
    source: 'default',
    as: null,
    firstMs: day.startMs + 3_600_000,
    lastMs: day.startMs + 7_200_000,
  }));
  const candidates = coverages.flatMap((coverage, id) =>
    coverage === undefined
      ? []
      : {
          stream_id: id,
          series_id: id,
          energy_wh: 0,
          covered_ms: Math.round(coverage * DAY_MS),
          coverage,
          preference: id === chosen ? 1 : 2,
        },
  );
  return streamsOf('default', configured, series, candidates, day).map(({ reason }) => reason);
}

test.each<[coverages: Array<number | undefined>, chosen: number, reasons: string[]]>([
  [
    [0.9, 1],
    0,
    [
      'the first in the order, covers 90 % of the day',
      'comes after the chosen one in the order; covers 100 % of the day',
    ],
  ],
  [
    [0.4, 1],
    1,
    [
      'covers 40 % of the day, more than half a day less than the 100 % of the one that covers most',
      'the first in the order that covers enough: 100 % of the day',
    ],
  ],
  [
    [1, 0.6],
    1,
    [
      'covers 100 % of the day, but stands still, while another method has measured energy',
      'the first in the order that covers enough: 60 % of the day',
    ],
  ],
  [
    [1, 0.4],
    1,
    [
      'covers 100 % of the day, but stands still, while another method has measured energy',
      'the first in the order that does not stand still; covers 40 % of the day',
    ],
  ],
  [
    [undefined, 1],
    1,
    [
      'its readings, from 01:00:00 to 02:00:00, do not cover the day',
      'the first in the order that covers enough: 100 % of the day',
    ],
  ],
])(
  'streams that cover %j of the day, of which the one at %i is chosen, have their reasons',
  (coverages, chosen, reasons) => {
    expect(reasonsOf(coverages, chosen)).toEqual(reasons);
  },
);

test.each([0.6, 0.7, 0.8, 0.9, 1])(
  'a stream covers enough up to exactly half a day less than the best, which covers %d of it',
  (best) => {
    const bound = (best * DAY_MS - DAY_MS / 2) / DAY_MS;
    const enough = `the first in the order that covers enough: ${percentText(bound)} of the day`;
    const little = `the first in the order that does not stand still; covers ${percentText(bound)} of the day`;
    expect(reasonsOf([best, bound], 1)[1]).toBe(enough);
    expect(reasonsOf([best, bound - 1 / DAY_MS], 1)[1]).toBe(little);
  },
);
