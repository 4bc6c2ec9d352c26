import { expect, test } from 'vitest';
import { flagBits } from '../../src/rollup/flag-bits.ts';
import { chapterTables } from './chapter-tables.ts';
import { deviceOf } from './many-streams.ts';

/** The statements of chapter 85 about whole days, each over a few rows. */
const open = chapterTables();
const one = deviceOf(1);
const DAY_MS = 86_400_000;
const QUARTER_MS = 900_000;
const CORRECTION = 'correction_id, kind, device, source, from_ms, to_ms, energy_wh, undoes';
const DAY = 'device UUID, source VARCHAR, day DATE, start_ms BIGINT, end_ms BIGINT';
const dayOf = (number: number) => [`1970-01-0${number}`, (number - 1) * DAY_MS, number * DAY_MS];
const set = (id: number, from: number, to: number, wh = 0) => [id, 'set', one, 'a', from, to, wh, null];

const CORRECTED = `${DAY}, series_id INTEGER, energy_wh BIGINT, covered_ms BIGINT, flags INTEGER, estimated BOOLEAN, is_whole BOOLEAN`;
const CANDIDATE =
  'device UUID, source VARCHAR, day DATE, start_ms BIGINT, end_ms BIGINT, series_id INTEGER, energy_wh BIGINT, covered_ms BIGINT, flags INTEGER, estimated BOOLEAN, method VARCHAR, stream_id INTEGER, coverage DOUBLE, preference INTEGER, substituted BOOLEAN';

test('corrected energy is put into the chosen method of its day, or is a method of its own where nothing is measured', async () => {
  const { fill, run, rows } = await open();
  await fill(
    'corrected_day',
    CORRECTED,
    [one, 'a', ...dayOf(1), 7, 50, DAY_MS / 2, 4, true, true],
    [one, 'a', ...dayOf(2), 7, 60, DAY_MS, 0, false, false],
    [one, 'a', ...dayOf(3), 7, 70, DAY_MS / 4, 8, true, true],
  );
  const candidate = (day: number, preference: number) => [
    one,
    'a',
    ...dayOf(day),
    7 + preference,
    1,
    2,
    16,
    false,
    'm',
    3,
    1,
    preference,
    true,
  ];
  await fill(
    'day_candidate',
    CANDIDATE,
    candidate(1, 1),
    candidate(1, 2),
    candidate(2, 1),
    candidate(3, 2),
    candidate(4, 1),
  );
  await fill('series_rule', 'series_id INTEGER, method VARCHAR, stream_id INTEGER', [7, 'r', 33]);
  await run('correct_candidates');
  await run('add_corrected_candidates');
  expect(
    await rows(
      'day_candidate',
      'day(day), preference, series_id, energy_wh, covered_ms, flags, estimated, substituted, coverage, method, stream_id',
    ),
  ).toEqual([
    [1, 1, 8, 50, DAY_MS / 2, 4, true, false, 0.5, 'm', 3],
    [1, 2, 9, 1, 2, 16, false, true, 1, 'm', 3],
    [2, 1, 8, 60, DAY_MS, 0, false, true, 1, 'm', 3],
    [3, 1, 7, 70, DAY_MS / 4, 8, true, null, 0.25, 'r', 33],
    [3, 2, 9, 1, 2, 16, false, true, 1, 'm', 3],
    [4, 1, 8, 1, 2, 16, false, true, 1, 'm', 3],
  ]);
  await fill(
    'day_contradiction',
    'device UUID, source VARCHAR, day DATE',
    ...[1, 2, 4].map((day) => [one, 'a', dayOf(day)[0]!]),
    [one, 'b', '1970-01-01'],
  );
  await run('drop_decided_contradictions');
  expect(await rows('day_contradiction', 'source, day(day)')).toEqual([
    ['a', 2],
    ['a', 4],
    ['b', 1],
  ]);
});

test('the days that overlap an exclusion are flagged as corrected, in their chosen method', async () => {
  const { fill, run, rows } = await open();
  const candidate = (day: number, preference: number, source = 'a') => [
    one,
    source,
    ...dayOf(day),
    7,
    1,
    2,
    16,
    false,
    'm',
    3,
    1,
    preference,
    false,
  ];
  await fill(
    'day_candidate',
    CANDIDATE,
    ...[1, 2, 3, 4].flatMap((day) => [candidate(day, 1), candidate(day, 2), candidate(day, 1, 'b')]),
  );
  await fill(
    'correction',
    CORRECTION,
    [1, 'exclude', one, 'a', DAY_MS, 3 * DAY_MS, 0, null],
    set(2, 0, DAY_MS),
  );
  await run('flag_excluded_days');
  expect(
    await rows(`day_candidate WHERE flags = ${16 | flagBits.corrected}`, 'source, day(day), preference'),
  ).toEqual([
    ['a', 2, 1],
    ['a', 3, 1],
  ]);
});

/** A day of which some intervals are reported as corrected, with the flags of its intervals by place. */
test.each<[name: string, flags: Record<number, number>, wanted: unknown[]]>([
  [
    'one is corrected',
    { 5: flagBits.corrected, 6: flagBits.reset },
    [flagBits.corrected | flagBits.reset, false, false],
  ],
  [
    'one is an estimate of a person',
    { 5: flagBits.corrected | flagBits.estimated },
    [flagBits.corrected, true, false],
  ],
  [
    'another one is interpolated',
    { 5: flagBits.corrected, 6: flagBits.estimated },
    [flagBits.corrected, false, false],
  ],
  [
    'the day begins in a silence',
    { 0: flagBits.silence_start, 5: flagBits.corrected },
    [flagBits.corrected, true, false],
  ],
  [
    'a silence begins later',
    { 1: flagBits.silence_start, 5: flagBits.corrected },
    [flagBits.corrected, false, false],
  ],
  [
    'the day ends in a silence',
    { 95: flagBits.silence_end, 5: flagBits.corrected },
    [flagBits.corrected, true, false],
  ],
  [
    'a silence ends before',
    { 94: flagBits.silence_end, 5: flagBits.corrected },
    [flagBits.corrected, false, false],
  ],
  [
    'all are corrected',
    Object.fromEntries(Array.from({ length: 96 }, (_, place) => [place, flagBits.corrected])),
    [flagBits.corrected, false, true],
  ],
])(
  'a day with corrected intervals has flags, is an estimate or not, and is corrected as a whole or not: %s',
  async (_name, flags, wanted) => {
    const { fill, run, rows } = await open();
    await fill(
      'day_to_correct',
      `${DAY}, series_id INTEGER`,
      [one, 'a', ...dayOf(2), 7],
      [one, 'b', ...dayOf(2), 8],
    );
    await fill(
      'interval_energy',
      'series_id, interval_start_ms, energy_wh, covered_ms, flags',
      [7, 0, 5, 5, 0],
      [7, 2 * DAY_MS, 5, 5, 0],
      [8, DAY_MS, 5, 5, 0],
    );
    for (const [place, bits] of Object.entries(flags)) {
      const at = [7, DAY_MS + Number(place) * QUARTER_MS, 10];
      if (bits & flagBits.corrected)
        await fill('corrected_interval', 'series_id, interval_start_ms, energy_wh, flags', [...at, bits]);
      else
        await fill('interval_energy', 'series_id, interval_start_ms, energy_wh, flags, covered_ms', [
          ...at,
          bits,
          QUARTER_MS,
        ]);
    }
    await run('collect_corrected_days');
    const count = Object.keys(flags).length;
    expect(await rows('corrected_day', 'source, energy_wh, covered_ms, flags, estimated, is_whole')).toEqual([
      ['a', 10 * count, count * QUARTER_MS, ...wanted],
    ]);
  },
);
