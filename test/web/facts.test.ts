import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type {
  Balances,
  DayChanges,
  DayDetails,
  DayOfSeries,
  DeviceStatuses,
  PipelineStatus,
  Profiles,
} from '../../src/web/facts/answers.ts';
import { findAttention } from '../../src/web/facts/attention.ts';
import { balanceColumns, seriesColumns } from '../../src/web/facts/energy-columns.ts';
import {
  comparedWithUsual,
  completeUpTo,
  firstDayOf,
  missingOfDay,
  sumOfMonth,
} from '../../src/web/facts/overview-facts.ts';
import { profileColumns } from '../../src/web/facts/profile-columns.ts';
import { daysOfDetails, daysOfQuality } from '../../src/web/facts/quality-days.ts';
import { qualityRows } from '../../src/web/facts/quality-rows.ts';
import { namerOf } from '../../src/web/facts/series.ts';
import { comparableOf, stack, totalOf } from '../../src/web/pictures/bar-data.ts';
import { closeScale, niceScale } from '../../src/web/pictures/nice-scale.ts';
import { shiftDay } from '../../src/web/words/local-days.ts';
import { monthTick } from '../../src/web/words/time-words.ts';

const roof = '0b0e7c1e-0000-4000-8000-000000000001';
const shed = '0b0e7c1e-0000-4000-8000-000000000002';
const today = '2026-11-22';

function value(energyWh: number | null, more: Partial<DayOfSeries> = {}): DayOfSeries {
  return {
    energyWh,
    methods: ['total_energy'],
    flags: [],
    coverage: 1,
    status: 'final',
    version: 1,
    computedAt: '2026-11-22T00:00:00.000Z',
    ...more,
  };
}

const frame = (from: string, to: string) => ({ period: { from, to }, grain: 'day' as const, today });
const all = () => true;
const name = (key: string) => key;

describe('columns of series', () => {
  test('a day without data is missing, days before the first data and after today are empty', () => {
    const { columns } = seriesColumns(
      { '2026-11-19': { a: value(5) }, '2026-11-20': {}, '2026-11-21': { a: value(0) } },
      all,
      name,
      frame('2026-11-18', '2026-11-23'),
    );
    expect(columns.map(({ state, values }) => [state, values[0]])).toEqual([
      ['before', null],
      ['measured', 5],
      ['missing', null],
      ['measured', 0],
      ['future', null],
      ['future', null],
    ]);
  });

  test('status and flags are seen, the worst first, and what is missing is counted', () => {
    const { columns } = seriesColumns(
      {
        '2026-11-19': { a: value(5, { flags: ['reset'], status: 'restated' }), b: value(1) },
        '2026-11-20': { a: value(5, { flags: ['reset', 'contradicted'], status: 'provisional' }) },
        [today]: { a: value(2, { flags: ['partial'], status: 'provisional' }), b: value(1) },
      },
      all,
      name,
      frame('2026-11-19', today),
    );
    expect(columns.map(({ mark }) => mark)).toEqual(['restated', 'bad', undefined, undefined]);
    expect(columns[1]!.state).toBe('provisional');
    expect(columns[1]!.notes.slice(1)).toEqual([
      'provisional',
      'no data of 1\u00a0source',
      'contradicted',
      'reset',
    ]);
  });

  test('today is not called incomplete, because it is not over', () => {
    const ofToday = { a: value(2, { flags: ['partial'] }), b: value(1, { flags: ['partial', 'reset'] }) };
    const { columns } = seriesColumns({ [today]: ofToday }, all, name, frame(today, today));
    expect(columns[0]!.notes.slice(1)).toEqual(['until now', 'reset (1 of 2)']);
  });

  test('nothing is lost: the series, the others and the months add up to the energy', () => {
    const days = fc.dictionary(
      fc.integer({ min: 0, max: 120 }).map((back) => shiftDay(today, -back)),
      fc.dictionary(fc.constantFrom(...'abcdefghijkl'), fc.integer({ min: 0, max: 1e6 })),
    );
    fc.assert(
      fc.property(days, fc.constantFrom('day', 'month', 'year'), (energy, grain) => {
        const period = { from: shiftDay(today, -120), to: today };
        const { series, columns } = seriesColumns(energy, all, name, { period, grain, today });
        const sum = Object.values(energy).reduce(
          (total, values) => total + Object.values(values).reduce((a, b) => a + b, 0),
          0,
        );
        expect(series.length).toBeLessThanOrEqual(8);
        expect(columns.reduce((total, column) => total + (totalOf(column, series) ?? 0), 0)).toBe(sum);
        for (const column of columns) {
          const ends = stack(column, series).map(({ to }) => to);
          expect(Math.max(0, ...ends)).toBe(totalOf(column, series) ?? 0);
        }
      }),
    );
  });

  test('a month says how many of its days have data', () => {
    const { columns } = seriesColumns({ '2026-10-01': { a: 1 }, '2026-11-01': { a: 1 } }, all, name, {
      period: { from: '2026-10-01', to: '2026-11-30' },
      grain: 'month',
      today,
    });
    expect(columns.map(({ notes, mark }) => [notes[1], mark])).toEqual([
      ['1 of 31\u00a0days with data', 'doubtful'],
      ['1 of 22\u00a0days with data', 'doubtful'],
    ]);
  });
});

test('a day with readings and without a balance is a gap, also if it is the first', () => {
  const unknown = {
    productionWh: null,
    parts: [{ device: roof, source: 'pv', role: 'production', wh: null, within: null }],
    computed: [],
    missing: ['production'],
  } as unknown as Balances[string];
  const { columns } = balanceColumns(
    { '2026-11-19': unknown, '2026-11-20': unknown },
    { '2026-11-20': { [`${roof}.pv`]: value(5, { flags: ['partial'] }) } },
    frame('2026-11-19', '2026-11-20'),
  );
  expect(columns.map(({ state }) => state)).toEqual(['before', 'missing']);
});

test('a balance stands on both sides, a role that a site does not have is left out, and production is compared', () => {
  const balance = {
    productionWh: 10,
    consumptionWh: 7,
    gridImportWh: null,
    gridExportWh: 3,
    batteryChargeWh: 0,
    batteryDischargeWh: 0,
    parts: [{ device: roof, source: 'pv', role: 'production', wh: 10, within: null }],
    computed: ['consumption'],
    missing: ['grid_import'],
    days: null,
    completeDays: null,
  } as unknown as Balances[string];
  const { series, columns } = balanceColumns(
    { '2026-11-20': balance },
    undefined,
    frame('2026-11-20', '2026-11-20'),
  );
  expect(series.map(({ key, side }) => [key, side])).toEqual([
    ['production', 1],
    ['grid_import', 1],
    ['consumption', -1],
    ['grid_export', -1],
  ]);
  expect(columns[0]!.values).toEqual([10, null, 7, 3]);
  expect(stack(columns[0]!, series).map(({ from, to }) => [from, to])).toEqual([
    [0, 10],
    [0, -7],
    [-7, -10],
  ]);
  expect(comparableOf(columns[0]!, series)).toBe(10);
});

test('a day of which a part is measured has no balance, and is not said to have no data', () => {
  const empty = { productionWh: null, consumptionWh: null, parts: [], missing: ['production'], computed: [] };
  const balance = { ...empty, days: null, completeDays: null } as unknown as Balances[string];
  const details = { '2026-11-20': { a: value(5, { flags: ['partial'] }) } };
  const days = frame('2026-11-19', '2026-11-20');
  const { columns } = balanceColumns({ '2026-11-19': balance, '2026-11-20': balance }, details, days);
  expect(columns.map(({ state, isPart }) => [state, isPart ?? false])).toEqual([
    ['before', false],
    ['missing', true],
  ]);
  expect(columns[1]!.notes[0]).toBe('only a part is measured, so the balance is not known');
});

test('the balance of today says that it ends with the last quarter of an hour that is known', () => {
  const balance = { productionWh: 5, consumptionWh: 1, parts: [], missing: [], computed: [] };
  const known = (days: number | null, completeDays: number | null) =>
    ({ ...balance, days, completeDays }) as unknown as Balances[string];
  const { columns } = balanceColumns({ [today]: known(null, null) }, undefined, frame(today, today));
  expect(columns[0]!.notes.slice(1)).toEqual(['up to the last quarter of an hour that is known']);
  const months = { '2026-10': known(31, 30), '2026-11': known(22, 21) };
  const period = { from: '2026-10-01', to: '2026-11-30' };
  const ofMonths = balanceColumns(months, undefined, { period, grain: 'month', today });
  expect(ofMonths.columns.map(({ notes, mark }) => [notes[1], mark])).toEqual([
    ['30 of 31\u00a0days with data', 'doubtful'],
    // The day that is missing can be today.
    ['21 of 22\u00a0days with data', undefined],
  ]);
});

test('the axis of months has the year at its beginning and in each January', () => {
  const months = ['2025-11', '2025-12', '2026-01', '2026-02'];
  expect(months.map((month) => /\d{4}/.test(monthTick(month, '2025-11')))).toEqual([
    true,
    false,
    true,
    false,
  ]);
});

describe('the overview', () => {
  const statuses: DeviceStatuses = {
    [roof]: { name: 'roof', state: 'online', since: null, reason: null, lastSeen: null },
    [shed]: { name: 'shed', state: 'offline', since: null, reason: 'timeout', lastSeen: null },
  };
  const found = (details: DayDetails, of = statuses, pipeline?: Pick<PipelineStatus, 'findings'>) =>
    findAttention({
      ...{ workgroup: 'home', today, details, statuses: of, changes: undefined, pipeline, nameOf: name },
    }).map(({ rank, text, href }) => [rank, text, href]);

  test('names what needs attention, worst first, each with a place that explains it', () => {
    const series = `${roof}.pv`;
    const list = found({
      '2026-11-21': { [series]: value(1, { flags: ['partial', 'reset'] }) },
      '2026-11-20': { [series]: value(1, { flags: ['partial'] }), [`${shed}.pv`]: value(1) },
    });
    expect(list).toEqual([
      ['bad', 'shed is offline (timeout).', expect.stringContaining(shed)],
      ['bad', expect.stringMatching(new RegExp(`^${shed}.pv: no energy on `)), '#/home/quality'],
      [
        'doubtful',
        expect.stringMatching(/ on 2\sdays, last on .*2026: only a part of the day is measured\.$/),
        `#/home/why?device=${roof}&source=pv&day=2026-11-21`,
      ],
    ]);
  });

  test('has what the pipeline found in the same list, with the page that leads on', () => {
    const finding = { since: null, path: null };
    const since = new Date(Date.now() - 3 * 3_600_000).toISOString();
    const findings: PipelineStatus['findings'] = [
      { ...finding, severity: 'bad', about: 'stage', message: 'rollup: a number is too large', since },
      {
        ...finding,
        severity: 'attention',
        about: 'lag',
        message: 'the work is 10 minutes behind the stream',
      },
      { ...finding, severity: 'attention', about: 'gap', message: 'one gap of the stream could not be read' },
      { ...finding, severity: 'attention', about: 'quarantine', message: '3 messages could not be read' },
      { severity: 'attention', about: 'problem', message: 'is empty', since: null, path: 'a.b' },
      { ...finding, severity: 'attention', about: 'export', message: 'export billing: no answer' },
      { ...finding, severity: 'attention', about: 'device', message: 'one device is offline' },
      { ...finding, severity: 'note', about: 'import', message: 'a.csv is being imported' },
    ];
    expect(found({}, statuses, { findings })).toEqual([
      ['bad', expect.stringMatching(/^Rollup: a number is too large, 3\shours ago\.$/), '#/home/pipeline'],
      ['bad', 'shed is offline (timeout).', expect.stringContaining(shed)],
      ['doubtful', 'The work is 10 minutes behind the stream.', '#/home/pipeline'],
      ['doubtful', 'One gap of the stream could not be read.', '#/home/pipeline'],
      ['doubtful', '3 messages could not be read.', '#/home/pipeline'],
      ['doubtful', 'Is empty (a.b).', '#/home/configuration'],
      ['doubtful', 'Export billing: no answer.', '#/home/exports'],
    ]);
  });

  test('names a device that has fallen silent although nobody said so, once', () => {
    const lastSeen = new Date(Date.now() - 60 * 3_600_000).toISOString();
    const silent = { [roof]: { ...statuses[roof]!, lastSeen } };
    const yesterday = { '2026-11-21': { [`${roof}.pv`]: value(1) } };
    expect(found(yesterday, silent)).toEqual([
      [
        'doubtful',
        expect.stringMatching(/^roof sent its last data 2\sdays ago\.$/),
        '#/home/devices?state=silent',
      ],
    ]);
    const before = { '2026-11-20': { [`${roof}.pv`]: value(1) } };
    expect(found(before, silent)).toEqual([
      ['bad', expect.stringContaining('no energy on'), '#/home/quality'],
    ]);
  });

  test('names closed days that have changed, and holes that were filled, but not the past of a source that has just begun', () => {
    const change = (day: string, source: string, kind: 'added' | 'restated') => ({
      ...{ day, device: roof, source, kind, differenceWh: 1_000 },
    });
    const of = (...changes: Array<ReturnType<typeof change>>) =>
      findAttention({
        ...{ workgroup: 'home', today, statuses: {}, pipeline: undefined, nameOf: name },
        details: {
          '2026-11-18': { [`${roof}.old`]: value(1), [`${roof}.new`]: value(1) },
          '2026-11-19': { [`${roof}.old`]: value(1), [`${roof}.new`]: value(1) },
          '2026-11-21': { [`${roof}.old`]: value(1), [`${roof}.new`]: value(1) },
        },
        changes: { changes } as unknown as DayChanges,
      }).map(({ rank, text }) => `${rank}: ${text}`);
    const added = [change('2026-11-18', 'new', 'added'), change('2026-11-19', 'new', 'added')];
    expect(of(...added)).toEqual([]);
    expect(of(...added, change('2026-11-19', 'old', 'added'))).toEqual([
      expect.stringMatching(/^noted: In the last week 1\sclosed day without energy got some .*of .*old\.$/),
    ]);
    expect(of(change('2026-11-19', 'new', 'restated'))).toEqual([
      expect.stringMatching(/^noted: In the last week 1\sclosed day changed \(\+1\.00\skWh\)/),
    ]);
  });

  test('is calm about a device that sleeps, repaired days, and today', () => {
    const asleep = { ...statuses, [shed]: { ...statuses[shed]!, reason: 'asleep' } };
    const days = {
      '2026-11-21': { a: value(1, { flags: ['reset'] }) },
      [today]: { a: value(1, { flags: ['partial'] }) },
    };
    expect(found(days, asleep)).toEqual([]);
  });

  test('compares with the median of the days before, if there are enough', () => {
    const days: Record<string, number> = { '2026-11-21': 50 };
    for (let back = 2; back < 7; back++) days[shiftDay(today, -back)] = back * 10;
    expect(comparedWithUsual((day) => days[day], '2026-11-21')).toEqual({ wh: 50, usualWh: 40 });
    delete days[shiftDay(today, -6)];
    expect(comparedWithUsual((day) => days[day], '2026-11-21')).toEqual({ wh: 50, usualWh: undefined });
    expect(comparedWithUsual(() => undefined, today).wh).toBeNull();
  });

  test('says how much of a day is not measured, by the least measured source', () => {
    const days = {
      [today]: {
        a: value(1, { flags: ['partial'], coverage: 95 / 96 }),
        b: value(1, { flags: ['partial'], coverage: 0.5 }),
        c: value(1, { coverage: 0.9995 }),
      },
    };
    const minutesOf = (...keys: string[]) => missingOfDay(days, today, (key) => keys.includes(key)) / 60_000;
    expect([minutesOf('a'), minutesOf('a', 'b', 'c'), minutesOf('c'), minutesOf()]).toEqual([15, 720, 0, 0]);
    expect(missingOfDay({}, today, all)).toBe(0);
  });

  test('the month to date leaves days before the first data alone', () => {
    const at = (consumptionWh: number | null) => ({ consumptionWh }) as Balances[string];
    const balances = {
      '2026-10-31': at(9),
      '2026-11-01': at(null),
      '2026-11-20': at(5),
      '2026-11-21': at(null),
    };
    const wh = ({ consumptionWh }: Balances[string]) => consumptionWh;
    expect(sumOfMonth(balances, today, '2026-11-20', wh)).toEqual({
      wh: 5,
      unknownDays: 1,
      hasToday: false,
    });
    // Today is often not known before its inverters are read again.
    const withToday = { ...balances, [today]: at(null) };
    expect(sumOfMonth(withToday, today, '2026-11-20', wh).unknownDays).toBe(1);
    expect(sumOfMonth({ [today]: at(2) }, today, today, wh)).toEqual({
      wh: 2,
      unknownDays: 0,
      hasToday: true,
    });
    expect(firstDayOf({ '2026-11-19': {}, '2026-11-20': { a: value(1) } })).toBe('2026-11-20');
    expect(firstDayOf({ '2026-11-19': {} })).toBeUndefined();
  });

  test('data are complete up to the source that is furthest behind, without devices that are offline', () => {
    const profile: Profiles[string] = {
      start: '2026-11-21T23:00:00.000Z',
      intervals: 96,
      energyWh: {
        [`${roof}.a`]: [1, 2, 3, null],
        [`${roof}.b`]: [1, null, null, null],
        [`${shed}.a`]: [null, null, null, null],
      },
    };
    expect(completeUpTo(profile, statuses)).toBe(Date.parse('2026-11-21T23:15:00.000Z'));
    expect(completeUpTo(undefined, statuses)).toBeUndefined();
  });
});

test('rows of quality begin with the most trouble, and a device is not missing before it came', () => {
  const days = ['2026-11-19', '2026-11-20', '2026-11-21', today];
  const details = {
    '2026-11-19': { old: value(1) },
    '2026-11-20': { old: value(1), fresh: value(1) },
    '2026-11-21': { fresh: value(1, { flags: ['reset'] }) },
    [today]: { old: value(1, { flags: ['partial'] }) },
  };
  const kind = (flags: string[]) => ({ coverage: 1, status: 'final' as const, methods: [], flags });
  const compact = {
    startDate: days[0]!,
    endDate: today,
    kinds: [kind([]), kind(['reset']), kind(['partial'])],
    devices: { old: [0, 0, null, 2], fresh: [null, 0, 1, null] },
  };
  for (const quality of [daysOfDetails(details, days), daysOfQuality(compact, days)]) {
    const facts = { today, nameOf: name, hrefOf: (key: string, day: string) => `${key} ${day}` };
    const rows = qualityRows(quality, ['fresh', 'old'], facts);
    expect(rows.map(({ key, states }) => [key, states])).toEqual([
      ['old', ['good', 'good', 'missing', 'good']],
      ['fresh', ['future', 'good', 'noted', 'future']],
    ]);
    expect(rows[0]!.cellAt(2)).toEqual({ words: 'no data', href: undefined });
    expect(rows[1]!.cellAt(0).words).toBe('before its first data');
    expect(rows[1]!.cellAt(2)).toEqual({
      words: expect.stringMatching(/final.*reset$/),
      href: 'fresh 2026-11-21',
    });
  }
});

test('a profile keeps gaps, knows where it ends, and has its strongest interval', () => {
  const shown = profileColumns(
    { start: '2026-11-20T23:00:00.000Z', intervals: 4, energyWh: { a: [1, null, 5, null] } },
    {
      nameOf: name,
      roles: new Map(),
      zone: 'Europe/Berlin',
      nowMs: Date.parse('2026-11-22T12:00:00Z'),
      other: undefined,
    },
  )!;
  expect(shown.columns.map(({ state }) => state)).toEqual(['measured', 'missing', 'measured', 'missing']);
  expect(shown).toMatchObject({
    lastKnown: '00:45',
    isWhole: false,
    missing: 1,
    peak: { time: '00:30', wh: 5 },
  });
});

test('a profile of many sources has the largest in colours, and all others are one series', () => {
  const [own, others] = [Array.from({ length: 9 }, (_, index) => `d${index}`), ['others']];
  const shown = profileColumns(
    {
      start: '2026-11-20T23:00:00.000Z',
      intervals: 2,
      energyWh: { ...Object.fromEntries(own.map((key, index) => [key, [index, null]])), others: [100, 1] },
    },
    {
      nameOf: name,
      roles: new Map(),
      zone: 'Europe/Berlin',
      nowMs: Date.parse('2026-11-22T12:00:00Z'),
      // Its largest sources are others.
      other: {
        start: '2026-11-19T23:00:00.000Z',
        intervals: 2,
        energyWh: { d8: [1, 1], elsewhere: [20, null] },
      },
    },
  )!;
  expect(shown.series.map(({ key }) => key)).toEqual([...own.slice(2), ...others]);
  expect(shown.series.at(-1)!.name).toBe('all others');
  expect(shown.columns.map(({ values }) => values)).toEqual([
    [2, 3, 4, 5, 6, 7, 8, 101],
    [null, null, null, null, null, null, null, 1],
  ]);
  expect(shown.columns.map(({ reference }) => reference)).toEqual([21, 1]);
});

test('hours of a day have ticks in every zone', () => {
  const start = Date.parse('2026-11-20T18:30:00.000Z');
  const shown = profileColumns(
    { start: new Date(start).toISOString(), intervals: 96, energyWh: { a: Array(96).fill(1) } },
    { nameOf: name, roles: new Map(), zone: 'Asia/Kolkata', nowMs: start + 2 * 86_400_000, other: undefined },
  )!;
  const ticks = shown.columns.map(({ tick }) => tick).filter(Boolean);
  expect(ticks.length).toBe(24);
  expect(ticks.slice(0, 2)).toEqual(['00:00', '01:00']);
});

test('names leave out what all have in common', () => {
  const devices = { [roof]: { name: 'roof' }, [shed]: { name: 'shed' } } as unknown as DeviceStatuses;
  const names = (...keys: string[]) => keys.map(namerOf(keys, devices));
  expect(names(`${roof}.east`, `${roof}.west`)).toEqual(['east', 'west']);
  expect(names(`${roof}.main`, `${shed}.main`)).toEqual(['roof', 'shed']);
  expect(names(`${roof}.east`, `${shed}.default`)).toEqual(['roof · east', 'shed']);
});

test('scales contain their values with few ticks', () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e9, max: 1e9 }), fc.integer({ min: 1, max: 1e9 }), (low, length) => {
      const high = low + length;
      for (const scale of [niceScale(low, high), closeScale(low, high)]) {
        const slack = (scale.high - scale.low) * 1e-6;
        expect(scale.low).toBeLessThanOrEqual(low + slack);
        expect(scale.high).toBeGreaterThanOrEqual(high - slack);
        expect(scale.ticks.length).toBeLessThan(12);
      }
    }),
  );
  expect(niceScale(0, 0).isEmpty).toBe(true);
});
