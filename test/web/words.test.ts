import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { alertFlags } from '../../src/config/alert-settings.ts';
import { morningFlags } from '../../src/exports/morning-attention.ts';
import { sheetFlags } from '../../src/exports/write-xlsx.ts';
import { flagBits } from '../../src/rollup/flag-bits.ts';
import { csvText } from '../../src/web/words/csv-text.ts';
import { flagName, flagText, flagWords, sortFlags, worstRank } from '../../src/web/words/flag-words.ts';
import {
  addMonths,
  countDays,
  listDays,
  shiftDay,
  today,
  weekStart,
} from '../../src/web/words/local-days.ts';
import {
  exactEnergy,
  formatChange,
  formatEnergy,
  formatShare,
  percentBeside,
  signedPercent,
} from '../../src/web/words/number-words.ts';
import {
  columnsOf,
  daysOfColumn,
  grainOf,
  lengthOf,
  periodAround,
  periodBefore,
  shiftPeriod,
  yearBefore,
} from '../../src/web/words/periods.ts';
import { clockTimes, durationWords, timeAgo } from '../../src/web/words/time-words.ts';
import { boundsOfDay, isZone } from '../../src/web/words/zone-days.ts';

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
  test('the days of columns are the days of the period, each once', { tags: ['slow'] }, () => {
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
        const period = periodAround(kind, from);
        expect(lengthOf(period)).toBe(kind);
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
    expect(weekStart(yearBefore(periodAround('week', '2026-11-20')).from)).toBe('2025-11-17');
  });
  test.each([
    ['2026-03-01', '2026-06-30', '2025-11-01', '2026-02-28', '2025-03-01', '2025-06-30'],
    ['2026-07-01', '2026-10-31', '2026-03-01', '2026-06-30', '2025-07-01', '2025-10-31'],
    ['2025-11-01', '2026-02-28', '2025-07-01', '2025-10-31', '2024-11-01', '2025-02-28'],
    ['2026-01-10', '2026-05-20', '2025-08-10', '2025-12-20', '2025-01-10', '2025-05-20'],
    ['2026-01-01', '2026-12-31', '2025-01-01', '2025-12-31', '2025-01-01', '2025-12-31'],
    ['2022-03-10', '2026-11-30', '2017-03-10', '2021-11-30', '2021-03-10', '2025-11-30'],
    ['2026-05-10', '2026-05-12', '2026-05-07', '2026-05-09', '2025-05-11', '2025-05-13'],
    ['2026-02-01', '2026-02-28', '2026-01-01', '2026-01-31', '2025-02-01', '2025-02-28'],
  ])('%s to %s is compared with %s to %s, and a year before with %s to %s', (...days) => {
    const [from, to, beforeFrom, beforeTo, yearFrom, yearTo] = days;
    expect(periodBefore({ from, to })).toEqual({ from: beforeFrom, to: beforeTo });
    expect(yearBefore({ from, to })).toEqual({ from: yearFrom, to: yearTo });
  });
  test('days', () => {
    expect(addMonths('2026-03-31', -1)).toBe('2026-02-28');
    expect(countDays('2026-03-01', '2026-03-31')).toBe(31);
    expect(today('Pacific/Kiritimati', Date.UTC(2026, 10, 22, 12))).toBe('2026-11-23');
    expect(today('America/Los_Angeles', Date.UTC(2026, 10, 22, 4))).toBe('2026-11-21');
  });
});

describe('flags', () => {
  test('every flag of a day has words on the page and in sheets, and a rank', () => {
    const { silence_start: _, silence_end: __, ...ofDays } = flagBits;
    const ofDevices = ['mixed', 'undeclared'];
    const flags = [...Object.keys(ofDays), ...ofDevices].sort();
    expect(Object.keys(flagWords).sort()).toEqual(flags);
    expect(Object.keys(sheetFlags).sort()).toEqual(flags);
    for (const chosen of [alertFlags, morningFlags])
      expect(flags).toEqual(expect.arrayContaining([...chosen]));
  });
  test('no name of a flag on the page needs the documentation', () => {
    const names = Object.keys(flagWords).map(flagName);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((one) => /_|partial|rebase|unavailable/.test(one))).toEqual([]);
    expect(['rebase', 'register_change', 'carry_over'].map(flagName)).toEqual([
      'jump',
      'register change',
      'carry over',
    ]);
    expect(flagText('rebase')).toBe('jump (rebase): the register jumped, and the jump is not counted');
  });
  test('each flag has its rank, the worst come first, and an unknown flag is doubtful', () => {
    const flags = Object.keys(flagWords);
    expect(Object.groupBy(flags, (flag) => worstRank([flag])!)).toEqual({
      bad: ['unavailable', 'contradicted', 'incomplete'],
      doubtful: ['mixed', 'undeclared', 'partial', 'gap', 'rebase', 'substituted', 'estimated'],
      noted: ['spike', 'glitch', 'reset', 'rollover', 'carry_over', 'jitter', 'corrected'],
    });
    expect(sortFlags(flags.toReversed())).toEqual(flags);
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
        ['x\ry', 'x\ny'],
      ],
    ),
  ).toBe('a,b\r\n"x,""y""",\r\n\'=1+1,-5\r\n"x\ry","x\ny"\r\n');
});

describe('days of zones', () => {
  const hours = (day: string, zone: string) => {
    const { startMs, endMs } = boundsOfDay(day, zone);
    return (endMs - startMs) / 3_600_000;
  };
  test.each([
    ['2026-11-20', 'Europe/Berlin', '2026-11-19T23:00:00.000Z', 24],
    ['2026-10-25', 'Europe/Berlin', '2026-10-24T22:00:00.000Z', 25],
    ['2026-10-04', 'Australia/Lord_Howe', '2026-10-03T13:30:00.000Z', 23.5],
    ['2026-11-20', 'Asia/Kathmandu', '2026-11-19T18:15:00.000Z', 24],
    // The clock jumps over midnight, so the day begins at one.
    ['2026-09-06', 'America/Santiago', '2026-09-06T04:00:00.000Z', 23],
  ])('%s in %s', (day, zone, start, length) => {
    expect(new Date(boundsOfDay(day, zone).startMs).toISOString()).toBe(start);
    expect(hours(day, zone)).toBe(length);
  });
  test('only zones that exist are accepted', () => {
    expect([isZone('UTC'), isZone('Mars/Olympus'), isZone(''), isZone(undefined)]).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});

test('a quarter of a year has columns of days, and a longer period of months or years', () => {
  const grain = (to: string) => grainOf({ from: '2026-07-01', to });
  expect(['2026-09-30', '2026-10-01', '2029-07-20', '2029-07-21'].map(grain)).toEqual([
    'day',
    'month',
    'month',
    'year',
  ]);
});

test('lengths of time and percents in words', () => {
  expect([250, 12_000, 60_000, 7_500_000, 7_199_000, 90_000_000].map(durationWords)).toEqual([
    '250\u00a0ms',
    '12\u00a0s',
    '1\u00a0min',
    '2\u00a0h 5\u00a0min',
    '1\u00a0h 59\u00a0min',
    '1\u00a0d 1\u00a0h',
  ]);
  expect([59_499, 59_500].map(durationWords)).toEqual(['59\u00a0s', '1\u00a0min']);
  expect(signedPercent(null)).toBe('–');
  expect(signedPercent(4.24)).toBe('+4.2\u00a0%');
  expect(signedPercent(-97.6)).toBe('-98\u00a0%');
  // Numbers below each other have as many digits.
  expect(signedPercent(-2)).toBe('-2.0\u00a0%');
  expect([-1.35, 12.4, 0, 0.01].map(percentBeside)).toEqual([
    '1.4\u00a0% below',
    '12\u00a0% above',
    'equal to',
    'equal to',
  ]);
  const nowMs = Date.UTC(2026, 10, 22);
  expect([10_000, 60_000, 7_300_000, 200_000_000].map((ms) => timeAgo(nowMs - ms, nowMs))).toEqual([
    'just now',
    '1\u00a0minute ago',
    '2\u00a0hours ago',
    '2\u00a0days ago',
  ]);
});

test('a time that clocks show twice has its offset, and no other time has one', () => {
  const quarter = 15 * 60_000;
  const from = (start: string) =>
    Array.from({ length: 3 }, (_, index) => Date.parse(start) + index * 4 * quarter);
  expect(clockTimes(from('2026-10-25T00:15:00Z'), 'Europe/London')).toEqual([
    '01:15 (+01:00)',
    '01:15 (+00:00)',
    '02:15',
  ]);
  expect(clockTimes(from('2026-11-01T03:30:00Z'), 'America/St_Johns')).toEqual([
    '01:00 (-02:30)',
    '01:00 (-03:30)',
    '02:00',
  ]);
  expect(clockTimes(from('2026-10-24T23:15:00Z'), 'UTC')).toEqual(['23:15', '00:15', '01:15']);
});
