import { expect, test } from 'vitest';
import { chapterTables } from './chapter-tables.ts';
import { deviceOf } from './many-streams.ts';

/** The statement of chapter 80 that finds changed days, over rows. versions.test.ts has whole roll-ups. */
const open = chapterTables();
const [one, two] = [deviceOf(1), deviceOf(2)];
const DAY_MS = 86_400_000;
const TOUCHED = 'device UUID, source VARCHAR, day DATE, start_ms BIGINT, end_ms BIGINT';
const CANDIDATE =
  'day DATE, device UUID, source VARCHAR, preference INTEGER, energy_wh BIGINT, method VARCHAR, stream_id INTEGER, flags INTEGER, coverage DOUBLE, estimated BOOLEAN, substituted BOOLEAN';
const dayOf = (number: number) => `1970-01-${String(number).padStart(2, '0')}`;
const boundsOf = (number: number) => [(number - 1) * DAY_MS, number * DAY_MS];

/** What is stored of a day, what its chosen method says, and what changes: energy, flags, version, status. */
interface DayCase {
  stored?: {
    wh?: number;
    flags?: number;
    coverage?: number;
    stream?: number;
    status?: string;
    version?: number;
  };
  history?: Array<[version: number, status: string]>;
  now?: {
    wh?: number;
    flags?: number;
    coverage?: number;
    estimated?: boolean;
    substituted?: boolean;
    contradicted?: boolean;
  };
  becomes?: [wh: number | null, flags: number, coverage: number | null, version: number, status: string];
}
const same = { wh: 5, flags: 0, coverage: 1, stream: 4, status: 'final', version: 2 };
const dayCases: Record<string, DayCase> = {
  'the same': { stored: same, now: {} },
  'other energy': { stored: same, now: { wh: 6 }, becomes: [6, 0, 1, 3, 'restated'] },
  'another stream': { stored: { ...same, stream: 3 }, now: {}, becomes: [5, 0, 1, 3, 'restated'] },
  'other flags': { stored: same, now: { flags: 2 }, becomes: [5, 2, 1, 3, 'restated'] },
  'another coverage': { stored: { ...same, coverage: 0.9999 }, now: {}, becomes: [5, 0, 1, 3, 'restated'] },
  'a coverage of four digits': {
    stored: { ...same, flags: 128, coverage: 0.1234 },
    now: { coverage: 0.123_44 },
  },
  'no energy any more': { stored: same, becomes: [null, 0, null, 3, 'restated'] },
  'never any energy': {},
  'the first energy': { now: {}, becomes: [5, 0, 1, 1, 'final'] },
  'energy that returns': {
    history: [
      [1, 'provisional'],
      [3, 'restated'],
      [2, 'final'],
    ],
    now: {},
    becomes: [5, 0, 1, 4, 'restated'],
  },
  'energy that returns while it is provisional': {
    history: [
      [1, 'final'],
      [2, 'provisional'],
    ],
    now: {},
    becomes: [5, 0, 1, 3, 'final'],
  },
  'provisional energy': {
    stored: { ...same, status: 'provisional' },
    now: { wh: 6 },
    becomes: [6, 0, 1, 3, 'final'],
  },
  'restated energy': {
    stored: { ...same, status: 'restated' },
    now: { wh: 6 },
    becomes: [6, 0, 1, 3, 'restated'],
  },
  'all flags of the chosen method': {
    now: { flags: 2, coverage: 0.9, estimated: true, substituted: true, contradicted: true },
    becomes: [5, 1 | 2 | 128 | 2_048 | 4_096, 0.9, 1, 'final'],
  },
};

test('a day changes with its energy, stream, flags or coverage, and then has the next version and its status', async () => {
  const { fill, run, rows } = await open();
  const list = Object.values(dayCases);
  await fill(
    'touched_day',
    TOUCHED,
    ...list.map((_, place) => [one, 'a', dayOf(place + 1), ...boundsOf(place + 1)]),
    [one, 'a', dayOf(31), ...boundsOf(31)],
  );
  await fill(
    'daily_energy',
    'day, device, source, energy_wh, flags, coverage, stream_id, status, version',
    ...list.flatMap(({ stored: day }, place) =>
      day
        ? [
            [
              dayOf(place + 1),
              one,
              'a',
              day.wh!,
              day.flags!,
              day.coverage!,
              day.stream!,
              day.status!,
              day.version!,
            ],
          ]
        : [],
    ),
    [dayOf(31), one, 'a', 1, 0, 1, 4, 'final', 1],
  );
  await fill(
    'daily_energy_history',
    'day, device, source, version, status',
    ...list.flatMap(({ history = [] }, place) =>
      history.map((version) => [dayOf(place + 1), one, 'a', ...version]),
    ),
    [dayOf(9), two, 'a', 9, 'final'],
    [dayOf(9), one, 'b', 9, 'final'],
  );
  await fill(
    'day_candidate',
    CANDIDATE,
    ...list.flatMap(({ now }, place) =>
      now
        ? [
            [
              dayOf(place + 1),
              one,
              'a',
              1,
              now.wh ?? 5,
              'm',
              4,
              now.flags ?? 0,
              now.coverage ?? 1,
              now.estimated ?? false,
              now.substituted ?? false,
            ],
            [dayOf(place + 1), one, 'a', 2, 99, 'm', 5, 0, 1, false, false],
          ]
        : [],
    ),
  );
  await fill(
    'day_contradiction',
    'device UUID, source VARCHAR, day DATE',
    ...list.flatMap(({ now }, place) =>
      now?.contradicted
        ? [
            [one, 'a', dayOf(place + 1)],
            [one, 'a', dayOf(place + 1)],
          ]
        : [],
    ),
  );
  const parameters = {
    low_ms: 0n,
    high_ms: BigInt(30 * DAY_MS),
    now_ms: BigInt(60 * DAY_MS),
    close_after_ms: BigInt(DAY_MS),
    declares: false,
  };
  await run('collect_day_changes', { ...parameters, several: true });
  expect(
    await rows('day_change', 'day::VARCHAR, energy_wh, coalesce(flags, 0), coverage, version, status'),
  ).toEqual(list.flatMap(({ becomes }, place) => (becomes ? [[dayOf(place + 1), ...becomes]] : [])));
  expect(
    await rows(`day_change WHERE day = '${dayOf(10)}'`, 'history_version, end_ms, stream_id, method'),
  ).toEqual([[3, 10 * DAY_MS, 4, 'm']]);
  await run('collect_day_changes', { ...parameters, several: false });
  expect(await rows(`day_change WHERE day = '${dayOf(list.length)}'`, 'flags')).toEqual([
    [1 | 2 | 128 | 4_096],
  ]);
});

test.each([
  [2 * DAY_MS - 1, 2, 'provisional'],
  [2 * DAY_MS, 3, 'provisional'],
  [3 * DAY_MS - 1, 3, 'provisional'],
  [3 * DAY_MS, 3, 'final'],
])(
  'day 2 that changes at %s ms has version %s and is %s, if days close a day after their end',
  async (nowMs, version, status) => {
    const { fill, run, rows } = await open();
    await fill('touched_day', TOUCHED, [one, 'a', dayOf(2), ...boundsOf(2)]);
    await fill('daily_energy', 'day, device, source, energy_wh, version, status', [
      dayOf(2),
      one,
      'a',
      5,
      2,
      'provisional',
    ]);
    await fill('day_candidate', CANDIDATE, [dayOf(2), one, 'a', 1, 6, 'm', 4, 0, 1, false, false]);
    await fill('day_contradiction', 'device UUID, source VARCHAR, day DATE');
    await run('collect_day_changes', {
      low_ms: 0n,
      high_ms: BigInt(9 * DAY_MS),
      now_ms: BigInt(nowMs),
      close_after_ms: BigInt(DAY_MS),
      declares: false,
      several: false,
    });
    expect(await rows('day_change', 'version, status')).toEqual([[version, status]]);
  },
);

test('a day is incomplete for all declared sources of a device if one of them has no energy', async () => {
  const { fill, run, rows } = await open();
  const touched = [
    [one, 'a'],
    [one, 'b'],
    [one, 'x'],
    [two, 'a'],
    [two, 'b'],
  ];
  await fill('touched_day', TOUCHED, ...touched.map((key) => [...key, dayOf(2), ...boundsOf(2)]), [
    one,
    'a',
    dayOf(3),
    ...boundsOf(3),
  ]);
  await fill('declared_source', 'device, source', [one, 'a'], [one, 'b'], [two, 'a'], [two, 'b']);
  await fill(
    'day_candidate',
    CANDIDATE,
    ...[
      [2, one, 'a'],
      [2, one, 'x'],
      [2, two, 'a'],
      [2, two, 'b'],
      [3, one, 'a'],
    ].map(([day, device, source]) => [
      dayOf(Number(day)),
      device!,
      source!,
      1,
      6,
      'm',
      4,
      0,
      1,
      false,
      false,
    ]),
  );
  await fill('day_contradiction', 'device UUID, source VARCHAR, day DATE');
  const parameters = {
    low_ms: 0n,
    high_ms: BigInt(9 * DAY_MS),
    now_ms: BigInt(9 * DAY_MS),
    close_after_ms: 0n,
    several: false,
  };
  await run('collect_day_changes', { ...parameters, declares: true });
  const flagged = () => rows('day_change WHERE flags & 256 > 0', 'device::VARCHAR, source, day::VARCHAR');
  expect(await flagged()).toEqual([[one, 'a', dayOf(2)]]);
  expect(await rows('day_change WHERE flags = 0', 'device::VARCHAR, source, day::VARCHAR')).toEqual([
    [one, 'a', dayOf(3)],
    [one, 'x', dayOf(2)],
    [two, 'a', dayOf(2)],
    [two, 'b', dayOf(2)],
  ]);
  await run('collect_day_changes', { ...parameters, declares: false });
  expect(await flagged()).toEqual([]);
});
