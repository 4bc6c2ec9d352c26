import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { flagBits } from '../../src/rollup/flag-bits.ts';
import { csvText } from '../../src/web/words/csv-text.ts';
import { flagWords, sortFlags, worstRank } from '../../src/web/words/flag-words.ts';
import {
  addMonths,
  countDays,
  listDays,
  shiftDay,
  today,
  weekStart,
} from '../../src/web/words/local-days.ts';
import { exactEnergy, formatChange, formatEnergy, formatShare } from '../../src/web/words/number-words.ts';
import {
  columnsOf,
  daysOfColumn,
  grainOf,
  kindOf,
  rangeOf,
  shiftPeriod,
  yearBefore,
} from '../../src/web/words/periods.ts';

const day = fc
  .date({ min: new Date('2000-01-01'), max: new Date('2099-12-31'), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10));

// The page writes numbers as the locale of the browser does. These are the English ones.
describe.skipIf(!Intl.NumberFormat().resolvedOptions().locale.startsWith('en'))('numbers', () => {
  test.each([
    [0, '0 Wh'],
    [999, '999 Wh'],
    [1_000, '1.00 kWh'],
    [9_996, '10.0 kWh'],
    [128_834, '128.8 kWh'],
    [-2_500_000, '-2.50 MWh'],
    [3_275_103_000, '3.28 GWh'],
  ])('%d Wh are %s', (wh, text) => {
    expect(formatEnergy(wh).replaceAll('\u00a0', ' ')).toBe(text);
  });
  test('the exact energy has all digits', () => {
    expect(exactEnergy(128_834)).toBe('128,834\u00a0Wh');
  });
  test('a share just below all is never all', () => {
    expect([1, 0.9996, 0.995, 0.5].map((share) => formatShare(share).replace('\u00a0', ' '))).toEqual([
      '100 %',
      '99.9 %',
      '99.5 %',
      '50 %',
    ]);
  });
  test('changes are words', () => {
    expect([
      formatChange(104, 100),
      formatChange(50, 100),
      formatChange(100.1, 100),
      formatChange(5, 0),
    ]).toEqual(['4\u00a0% more than', '50\u00a0% less than', 'as much as', undefined]);
  });
});

describe('periods', () => {
  test('the days of columns are the days of the period, each once', () => {
    fc.assert(
      fc.property(day, fc.integer({ min: 0, max: 1_500 }), (from, length) => {
        const period = { from, to: shiftDay(from, length) };
        const columns = columnsOf(period, grainOf(period));
        const days = columns.flatMap((column) => {
          const { from: first, to } = daysOfColumn(column, period);
          return listDays(first, to);
        });
        expect(days).toEqual(listDays(period.from, period.to));
        expect(columns.length).toBeLessThanOrEqual(92);
      }),
    );
  });
  test('the period after the period before is the period itself', () => {
    fc.assert(
      fc.property(day, fc.constantFrom('week', 'month', 'year'), (from, kind) => {
        const period = rangeOf(kind, from);
        expect(kindOf(period)).toBe(kind);
        expect(period.from <= from && from <= period.to).toBe(true);
        expect(shiftPeriod(shiftPeriod(period, -1), 1)).toEqual(period);
        expect(shiftDay(shiftPeriod(period, -1).to, 1)).toBe(period.from);
      }),
    );
  });
  test('a year before keeps months, and the weekdays of weeks', () => {
    expect(yearBefore({ from: '2024-02-01', to: '2024-02-29' })).toEqual({
      from: '2023-02-01',
      to: '2023-02-28',
    });
    expect(weekStart(yearBefore(rangeOf('week', '2026-11-20')).from)).toBe('2025-11-17');
  });
  test('days', () => {
    expect(addMonths('2026-03-31', -1)).toBe('2026-02-28');
    expect(countDays('2026-03-01', '2026-03-31')).toBe(31);
    expect(today('Pacific/Kiritimati', Date.UTC(2026, 10, 22, 12))).toBe('2026-11-23');
    expect(today('America/Los_Angeles', Date.UTC(2026, 10, 22, 4))).toBe('2026-11-21');
  });
});

describe('flags', () => {
  test('every flag of a day has words and a rank', () => {
    const { wide_start: _, wide_end: __, ...ofDays } = flagBits;
    const ofDevices = ['mixed', 'undeclared'];
    expect(Object.keys(flagWords).sort()).toEqual([...Object.keys(ofDays), ...ofDevices].sort());
  });
  test('the worst comes first, and an unknown flag is doubtful', () => {
    expect(sortFlags(['reset', 'partial', 'contradicted'])).toEqual(['contradicted', 'partial', 'reset']);
    expect([
      worstRank(['reset']),
      worstRank(['reset', 'partial']),
      worstRank(['new_one']),
      worstRank([]),
    ]).toEqual(['noted', 'doubtful', 'doubtful', undefined]);
  });
});

test('a table as CSV keeps texts apart, and spreadsheets run none of them', () => {
  expect(
    csvText(
      ['a', 'b'],
      [
        ['x,"y"', null],
        ['=1+1', -5],
      ],
    ),
  ).toBe('a,b\r\n"x,""y""",\r\n\'=1+1,-5\r\n');
});
