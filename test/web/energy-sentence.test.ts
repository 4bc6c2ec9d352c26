import { expect, test } from 'vitest';
import type { EnergyColumns } from '../../src/web/facts/energy-columns.ts';
import { energySentence } from '../../src/web/pages/energy-sentence.tsx';
import type { BarColumn, BarSeries } from '../../src/web/pictures/bar-data.ts';
import { renderPart } from './support/render-part.ts';

const solar: BarSeries = { key: 'production', name: 'Production', tone: 'production', side: 1 };
const grid: BarSeries = { key: 'grid_import', name: 'Grid import', tone: 'grid_import', side: 1 };
const used: BarSeries = { key: 'consumption', name: 'Consumption', tone: 'consumption', side: -1 };
const column = (day: string, values: Array<number | null>, changed: Partial<BarColumn> = {}): BarColumn => ({
  key: day,
  tick: day,
  name: day,
  values,
  state: 'measured',
  isWhole: true,
  notes: [],
  ...changed,
});
const days = (series: BarSeries[], ...columns: BarColumn[]): EnergyColumns => ({ series, columns });
const past = { from: '2026-05-10', to: '2026-05-12' };
const twoDays = days([grid], column('2026-05-10', [1_500]), column('2026-05-11', [500]));
const sentence = (changed: Partial<Parameters<typeof energySentence>[0]>) =>
  renderPart(
    () =>
      energySentence({
        show: 'sources',
        period: past,
        other: undefined,
        grain: 'day',
        columns: twoDays,
        compared: undefined,
        today: '2026-05-17',
        ...changed,
      }) as never,
    {},
  ).lines.join('\n');

test('what is shown has its own words', () => {
  expect([
    sentence({}),
    sentence({ show: 'meters', columns: days([grid, solar], column('2026-05-10', [1, 2])) }),
    sentence({ show: 'grid_import' }),
    sentence({ show: 'devices', columns: days([grid], column('2026-05-10', [null])) }),
  ]).toEqual([
    '2.00 kWh {2000} by 1 source in May 10 – 12, 2026.',
    '3 Wh {3} by 2 meters in May 10 – 12, 2026.',
    '2.00 kWh {2000} of grid import in May 10 – 12, 2026.',
    '– <not known> by 1 device in May 10 – 12, 2026. On 1 day a part is missing.',
  ]);
});

test('a balance says what is produced and used, or else what comes from the grid', () => {
  const balance = (series: BarSeries[], values: Array<number | null>) =>
    sentence({ show: 'balance', columns: days(series, column('2026-05-10', values)) });
  expect([
    balance([solar, used], [3_000, 2_000]),
    balance([solar], [3_000]),
    balance([grid, used], [900, 2_000]),
    balance([grid], [900]),
    balance([grid], [null]),
    sentence({ show: 'site:Barn', columns: days([solar], column('2026-05-10', [3_000])) }),
  ]).toEqual([
    '3.00 kWh {3000} produced, 2.00 kWh {2000} used in May 10 – 12, 2026.',
    '3.00 kWh {3000} produced in May 10 – 12, 2026.',
    '2.00 kWh {2000} used in May 10 – 12, 2026.',
    '900 Wh {900} from the grid in May 10 – 12, 2026.',
    '– <not known> from the grid in May 10 – 12, 2026. On 1 day a part is missing.',
    '3.00 kWh {3000} produced in May 10 – 12, 2026.',
  ]);
});

test('a period has begun, is over, or is a single day', () => {
  expect([
    sentence({ period: { from: '2026-05-01', to: '2026-05-31' } }),
    sentence({ period: { from: '2026-05-11', to: '2026-05-17' } }),
    sentence({ period: { from: '2026-04-01', to: '2026-04-30' } }),
    sentence({ period: { from: '2026-05-16', to: '2026-05-16' } }),
  ]).toEqual([
    '2.00 kWh {2000} by 1 source so far in May 2026.',
    '2.00 kWh {2000} by 1 source so far in May 11 – 17, 2026.',
    '2.00 kWh {2000} by 1 source in April 2026.',
    '2.00 kWh {2000} by 1 source on Sat, May 16, 2026.',
  ]);
});

test('gaps are counted, before today and in the right number', () => {
  const before = column('2026-05-09', [null], { state: 'before' });
  const missing = column('2026-05-11', [null], { state: 'missing' });
  const inPart = column('2026-05-12', [null], { state: 'missing', isPart: true });
  const half = column('2026-05-13', [1, null]);
  const bad = column('2026-05-14', [1], { mark: 'bad' });
  const noted = column('2026-05-15', [1], { mark: 'noted' });
  const today = column('2026-05-17', [null, 1]);
  const first = column('2026-05-10', [1_500]);
  const of = (...columns: BarColumn[]) => sentence({ columns: days([grid, solar], ...columns) });
  expect([
    of(before, first, missing),
    of(first, missing, { ...missing, key: '2026-05-16' }),
    of(inPart, half, noted),
    of(first, inPart),
    of(first, bad),
    of(first, bad, { ...bad, mark: 'doubtful' }),
    of(first, today),
  ]).toEqual([
    '1.50 kWh {1500} by 2 sources in May 10 – 12, 2026. The first data are of 2026-05-10. 1 day of 2 has no data.',
    '1.50 kWh {1500} by 2 sources in May 10 – 12, 2026. 2 days of 3 have no data.',
    '2 Wh {2} by 2 sources in May 10 – 12, 2026. On 2 days a part is missing.',
    '1.50 kWh {1500} by 2 sources in May 10 – 12, 2026. On 1 day a part is missing.',
    '1.50 kWh {1501} by 2 sources in May 10 – 12, 2026. 1 day is marked: look before you trust it.',
    '1.50 kWh {1502} by 2 sources in May 10 – 12, 2026. 2 days are marked: look before you trust them.',
    '1.50 kWh {1501} by 2 sources in May 10 – 12, 2026. A part of today is not known yet.',
  ]);
});

test('only the days that both periods have are compared', () => {
  const other = { from: '2026-05-07', to: '2026-05-09' };
  const with1000 = days([grid], column('2026-05-07', [1_000]), column('2026-05-08', [null]));
  const compare = (compared: EnergyColumns, columns = twoDays, of = other) =>
    sentence({ other: of, compared, columns });
  expect([
    compare(with1000),
    compare(days([grid], column('2026-05-07', [1_500]), column('2026-05-08', [500]))),
    compare(days([grid], column('2026-05-07', [null]))),
    compare(days([grid], column('2026-05-07', [0]))),
    compare(
      days([solar, used], column('2026-05-07', [2_000, 5])),
      days([solar, used], column('2026-05-10', [1_500, 9])),
    ),
    compare(with1000, twoDays, { from: '2026-05-07', to: '2026-05-07' }),
    sentence({ other, compared: undefined }),
  ]).toEqual([
    '2.00 kWh {2000} by 1 source in May 10 – 12, 2026. That is 50 % more than {50} in May 7 – 9, 2026, over the 1 whole day that both have.',
    '2.00 kWh {2000} by 1 source in May 10 – 12, 2026. That is as much as {0} in May 7 – 9, 2026, over the 2 whole days that both have.',
    '2.00 kWh {2000} by 1 source in May 10 – 12, 2026. There is nothing to compare with in May 7 – 9, 2026.',
    '2.00 kWh {2000} by 1 source in May 10 – 12, 2026.',
    '1.50 kWh {1500} by 2 sources in May 10 – 12, 2026. Production is 25 % less than {-25} in May 7 – 9, 2026, over the 1 whole day that both have.',
    '2.00 kWh {2000} by 1 source in May 10 – 12, 2026. That is 50 % more than {50} on Thu, May 7, 2026, over the 1 whole day that both have.',
    '2.00 kWh {2000} by 1 source in May 10 – 12, 2026.',
  ]);
});
