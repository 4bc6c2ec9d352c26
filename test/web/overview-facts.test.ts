import { describe, expect, test } from 'vitest';
import type {
  Balances,
  DayChanges,
  DayDetails,
  DeviceStatuses,
  PipelineStatus,
  Profiles,
} from '../../src/web/facts/answers.ts';
import { findAttention } from '../../src/web/facts/attention.ts';
import {
  comparedWithUsual,
  completeUpTo,
  firstDayOf,
  missingOfDay,
  sumOfDay,
  sumOfMonth,
  sumOfMonthSoFar,
} from '../../src/web/facts/overview-facts.ts';
import { shiftDay } from '../../src/web/words/local-days.ts';
import { dayOfSeries, roof, shed, today } from './support/days-of-series.ts';

const all = () => true;
const name = (key: string) => key;

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
      '2026-11-21': { [series]: dayOfSeries(1, { flags: ['partial', 'reset'] }) },
      '2026-11-20': { [series]: dayOfSeries(1, { flags: ['partial'] }), [`${shed}.pv`]: dayOfSeries(1) },
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

  test('says nothing of a source that has begun today', () => {
    const list = found(
      { '2026-11-21': { a: dayOfSeries(1) }, [today]: { a: dayOfSeries(1), b: dayOfSeries(1) } },
      {},
    );
    expect(list).toEqual([]);
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
      { ...finding, severity: 'attention', about: 'gap', message: '1 gap of the stream could not be read' },
      { ...finding, severity: 'attention', about: 'quarantine', message: '3 messages could not be read' },
      { severity: 'attention', about: 'problem', message: 'is empty', since: null, path: 'a.b' },
      { ...finding, severity: 'attention', about: 'export', message: 'export billing: no answer' },
      { ...finding, severity: 'attention', about: 'device', message: '1 device is offline' },
      { ...finding, severity: 'note', about: 'import', message: 'a.csv is being imported' },
    ];
    expect(found({}, statuses, { findings })).toEqual([
      ['bad', expect.stringMatching(/^Rollup: a number is too large, 3\shours ago\.$/), '#/home/pipeline'],
      ['bad', 'shed is offline (timeout).', expect.stringContaining(shed)],
      ['doubtful', 'The work is 10 minutes behind the stream.', '#/home/pipeline'],
      ['doubtful', '1 gap of the stream could not be read.', '#/home/pipeline'],
      ['doubtful', '3 messages could not be read.', '#/home/pipeline'],
      ['doubtful', 'Is empty (a.b).', '#/home/configuration'],
      ['doubtful', 'Export billing: no answer.', '#/home/exports'],
    ]);
  });

  test('names a device that has fallen silent although nobody said so, once', () => {
    const lastSeen = new Date(Date.now() - 60 * 3_600_000).toISOString();
    const silent = { [roof]: { ...statuses[roof]!, lastSeen } };
    const yesterday = { '2026-11-21': { [`${roof}.pv`]: dayOfSeries(1) } };
    expect(found(yesterday, silent)).toEqual([
      [
        'doubtful',
        expect.stringMatching(/^roof sent its last data 2\sdays ago\.$/),
        '#/home/devices?state=silent',
      ],
    ]);
    const before = { '2026-11-20': { [`${roof}.pv`]: dayOfSeries(1) } };
    expect(found(before, silent)).toEqual([
      ['bad', expect.stringContaining('no energy on'), '#/home/quality'],
    ]);
  });

  test('of several silent devices, names the one that has been silent for longest', () => {
    const seen = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
    const silent = {
      [shed]: { ...statuses[shed]!, state: 'online' as const, lastSeen: seen(30) },
      [roof]: { ...statuses[roof]!, lastSeen: seen(60) },
    };
    expect(found({}, silent).map(([, text]) => text)).toEqual([
      expect.stringMatching(/^roof .*, and 1\sother device for more than a day\.$/),
    ]);
  });

  test('names doubtful days of the last seven days, and none before them', () => {
    const flagged = (day: string) => {
      const details = {
        [shiftDay(today, -1)]: { [`${roof}.pv`]: dayOfSeries(1) },
        [day]: { [`${roof}.pv`]: dayOfSeries(1, { flags: ['partial'] }) },
      };
      return found(details, {}).map(([, text]) => text);
    };
    expect(flagged(shiftDay(today, -7))).toEqual([expect.stringContaining('only a part')]);
    expect(flagged(shiftDay(today, -8))).toEqual([]);
  });

  test('names closed days that have changed, and holes that were filled, but not the past of a source that has just begun', () => {
    const change = (day: string, source: string, kind: 'added' | 'restated') => ({
      ...{ day, device: roof, source, kind, differenceWh: 1_000 },
    });
    const of = (...changes: Array<ReturnType<typeof change>>) =>
      findAttention({
        ...{ workgroup: 'home', today, statuses: {}, pipeline: undefined, nameOf: name },
        details: {
          '2026-11-18': { [`${roof}.old`]: dayOfSeries(1), [`${roof}.new`]: dayOfSeries(1) },
          '2026-11-19': { [`${roof}.old`]: dayOfSeries(1), [`${roof}.new`]: dayOfSeries(1) },
          '2026-11-21': Object.fromEntries(
            ['old', 'new', 'newest'].map((source) => [`${roof}.${source}`, dayOfSeries(1)]),
          ),
        },
        changes: { changes } as unknown as DayChanges,
      }).map(({ rank, text }) => `${rank}: ${text}`);
    const added = [change('2026-11-18', 'new', 'added'), change('2026-11-19', 'new', 'added')];
    expect(of(...added)).toEqual([]);
    expect(of(change('2026-11-21', 'newest', 'added'))).toEqual([]);
    expect(of(...added, change('2026-11-19', 'old', 'added'))).toEqual([
      expect.stringMatching(/^noted: In the last week 1\sclosed day without energy got some .*of .*old\.$/),
    ]);
    // Two sources of one day are one day.
    expect(of(change('2026-11-19', 'old', 'restated'), change('2026-11-19', 'new', 'restated'))).toEqual([
      expect.stringMatching(/^noted: In the last week 1\sclosed day changed \(\+2\.00\skWh\)/),
    ]);
    expect(of(change('2026-11-19', 'new', 'restated'))).toEqual([
      expect.stringMatching(/^noted: In the last week 1\sclosed day changed \(\+1\.00\skWh\)/),
    ]);
  });

  test('is calm about a device that sleeps, repaired days, and today', () => {
    const asleep = { ...statuses, [shed]: { ...statuses[shed]!, reason: 'asleep' } };
    const days = {
      '2026-11-21': { a: dayOfSeries(1, { flags: ['reset'] }) },
      [today]: { a: dayOfSeries(1, { flags: ['partial'] }) },
    };
    expect(found(days, asleep)).toEqual([]);
  });

  test('compares with the median of the days before, if there are enough', () => {
    const days: Record<string, number> = { '2026-11-21': 50 };
    for (let back = 2; back < 7; back++) days[shiftDay(today, -back)] = back * 10;
    expect(comparedWithUsual((day) => days[day], '2026-11-21')).toEqual({ wh: 50, usualWh: 40 });
    delete days[shiftDay(today, -6)];
    expect(comparedWithUsual((day) => days[day], '2026-11-21')).toEqual({ wh: 50, usualWh: undefined });
    // Of an even number, the middle of the two in the middle. The 28 days before count, and not the 29th.
    for (const [back, wh] of [
      [28, 20],
      [29, 10],
      [6, 31],
    ] as const)
      days[shiftDay('2026-11-21', -back)] = wh;
    expect(comparedWithUsual((day) => days[day], '2026-11-21').usualWh).toBe(31);
    expect(comparedWithUsual(() => undefined, today).wh).toBeNull();
  });

  test('says how much of a day is not measured, by the least measured source', () => {
    const days = {
      [today]: {
        a: dayOfSeries(1, { flags: ['partial'], coverage: 95 / 96 }),
        b: dayOfSeries(1, { flags: ['partial'], coverage: 0.5 }),
        c: dayOfSeries(1, { coverage: 0.9995 }),
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
    expect(firstDayOf({ '2026-11-19': {}, '2026-11-20': { a: dayOfSeries(1) } })).toBe('2026-11-20');
    expect(firstDayOf({ '2026-11-19': {} })).toBeUndefined();
  });

  test('a day and a month to date are the sums of what is known of the chosen series, and else not 0', () => {
    const details = {
      '2025-11-20': { a: dayOfSeries(1_000) },
      '2026-10-31': { a: dayOfSeries(100) },
      '2026-11-01': { a: dayOfSeries(null), b: dayOfSeries(40) },
      '2026-11-02': {},
      [today]: { a: dayOfSeries(5), b: dayOfSeries(3), c: dayOfSeries(1) },
    };
    const chosen = (key: string) => key !== 'c';
    expect(
      ['2026-11-01', '2026-11-02', '2026-11-03', today].map((day) => sumOfDay(details, day, chosen)),
    ).toEqual([40, null, null, 8]);
    expect(sumOfMonthSoFar(details, today, chosen)).toBe(48);
    expect(sumOfMonthSoFar(details, '2026-12-01', chosen)).toBeNull();
    expect(sumOfMonthSoFar(details, today, () => false)).toBeNull();
  });

  test('data are complete up to the source that is furthest behind, without devices that are offline', () => {
    const profile: Profiles[string] = {
      start: '2026-11-21T23:00:00.000Z',
      intervals: 96,
      energyWh: {
        [`${roof}.a`]: [1, 2, 3, null],
        [`${roof}.b`]: [1, null, null, null],
        [`${roof}.c`]: [null, null, null, null],
        [`${shed}.a`]: [1, null, null, null],
      },
    };
    const endOf = (energyWh: Profiles[string]['energyWh']) =>
      completeUpTo({ ...profile, energyWh }, statuses);
    const { [`${roof}.b`]: _, ...withoutLast } = profile.energyWh;
    expect(endOf(profile.energyWh)).toBe(Date.parse('2026-11-21T23:15:00.000Z'));
    expect(endOf(withoutLast)).toBe(Date.parse('2026-11-21T23:45:00.000Z'));
    expect(endOf({ [`${shed}.a`]: [1, null, null, null] })).toBeUndefined();
    expect(completeUpTo(undefined, statuses)).toBeUndefined();
  });
});
