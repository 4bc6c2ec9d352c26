import { expect, test } from 'vitest';
import {
  type BreakRow,
  type ChangeRow,
  judgeBreakRows,
  type SeriesRow,
} from '../../src/rollup/judge-break-rows.ts';
import { ruleConstants } from '../../src/rollup/rule-constants.ts';

const HOUR_MS = 3_600_000;
const foreverMs = ruleConstants.forever_ms.value;
const hours = (count: number) => BigInt(count * HOUR_MS);

/** A lifetime register with a configured limit, which is judged to its end unless `more` says otherwise. */
const register = (id: number, more: Partial<SeriesRow> = {}): SeriesRow => ({
  ...{ series_id: id, method: 'total_energy', is_learnt: false, modulus_wh: null },
  ...{ judging_to_ms: BigInt(foreverMs), changed_ms: 0n },
  ...{ first_ms: 0n, first_value: 0, last_ms: hours(100), ...more },
});

/** A fall within an hour to 5 Wh, which 10 kW explain. @param hour of the reading after it */
const fall = (id: number, hour: number, more: Partial<BreakRow> = {}): BreakRow => ({
  ...{ series_id: id, from_ms: hours(hour - 1), from_value: 1_000, to_ms: hours(hour), to_value: 5 },
  ...{ decided_ms: null, is_start: false, max_power_w: 10_000, max_power_after_reset_w: null, jitter_wh: 0 },
  ...{ is_beyond: false, standstill_since_ms: null, day_ms: null, before_ms: null, before_value: null },
  ...{ first_ms: null, first_value: null, ...more },
});
const byId = (...series: SeriesRow[]) => new Map(series.map((row) => [row.series_id, row]));

/** The verdict about one series, with times in hours. */
function judged(series: SeriesRow, rows: BreakRow[], changes: ChangeRow[] = []) {
  const [verdict, ...others] = judgeBreakRows(rows, byId(series), changes);
  expect(others).toEqual([]);
  const { events, redecided, endMs, isOpen } = verdict!;
  const inHours = (ms: number | null) => (ms === null || ms === foreverMs ? ms : ms / HOUR_MS);
  return {
    events: events.map(({ kind, toMs, energyWh }) => [kind, inHours(toMs), energyWh]),
    redecided: [...redecided].map((times) => times.map(inHours)),
    endHour: endMs === undefined ? undefined : inHours(endMs),
    isOpen,
  };
}

/** Each is decided by the reading before the second break after it. The last two wait for more readings. */
const HOURS = [10, 40, 80, 120, 160];
const [first, second, third] = [79, 119, 159];
const rowsWith = (...decidedHours: Array<number | undefined>) =>
  HOURS.map((hour, index) => {
    const decided = decidedHours[index];
    return fall(1, hour, { decided_ms: decided === undefined ? null : hours(decided) });
  });
const resets = (count: number) => HOURS.slice(0, count).map((hour) => ['reset', hour, 5]);
/** Judged up to hour 200, after a change at an hour. */
const upTo200 = (changedHour: number) =>
  register(1, { judging_to_ms: hours(200), changed_ms: hours(changedHour) });

test('a series that is judged to its end has all events, and the times that have changed', () => {
  expect(judged(register(1), rowsWith(first, 100))).toEqual({
    events: resets(5),
    redecided: [
      [40, second],
      [80, third],
      [120, foreverMs],
      [160, foreverMs],
    ],
    endHour: undefined,
    isOpen: false,
  });
});

test('a change reaches up to the first break after it that is decided as before', () => {
  expect(judged(upTo200(9), rowsWith(first, second))).toEqual({
    events: resets(1),
    redecided: [],
    endHour: 10,
    isOpen: false,
  });
  expect(judged(upTo200(10), rowsWith(first, 100, third))).toEqual({
    events: resets(3),
    redecided: [[40, second]],
    endHour: 80,
    isOpen: false,
  });
});

test('if no break is decided as before, later breaks must be judged, too', () => {
  expect(judged(upTo200(80), rowsWith(first, second, third, undefined))).toMatchObject({
    events: resets(5),
    endHour: undefined,
    isOpen: true,
  });
  // A break that waits for more readings shows nothing.
  const waiting = fall(1, 10, { decided_ms: BigInt(foreverMs) });
  expect(judged(upTo200(0), [waiting])).toMatchObject({ redecided: [], endHour: undefined, isOpen: true });
});

test('judging goes on from the break before, with its time', () => {
  const start = fall(1, 2, { is_start: true, to_value: 990, decided_ms: hours(150) });
  expect(judged(register(1), [start, ...rowsWith()])).toMatchObject({
    events: resets(5),
    redecided: [
      [10, 150],
      [40, 150],
      [80, third],
      [120, foreverMs],
      [160, foreverMs],
    ],
  });
});

test('a break at which the register is no longer believed loses its time', () => {
  const low = fall(1, 10, { to_value: 0, decided_ms: hours(12) });
  const back = { from_ms: hours(10), from_value: 0, to_ms: hours(11), to_value: 1_001, max_power_w: 100 };
  expect(judged(register(1), [low, fall(1, 11, back)])).toMatchObject({
    events: [['glitch', 10, 0]],
    redecided: [
      [10, null],
      [11, foreverMs],
    ],
  });
});

test('each series, and each day of a daily register, is judged alone, with its own declared changes', () => {
  const changes = [2, 9].map((series_id) => ({
    ...{ series_id, at_ms: hours(10), final_value: 1_010, initial_value: 1 },
  }));
  const daily = register(3, { method: 'daily_energy', judging_to_ms: hours(1) });
  const days = [0, 24].map((dayHour) =>
    fall(3, dayHour + 10, { day_ms: hours(dayHour), from_value: 500, to_value: 5 }),
  );
  const verdicts = judgeBreakRows(
    [fall(1, 10), fall(2, 10), ...days],
    byId(register(1), register(2), daily),
    changes,
  );
  expect(
    verdicts.map(({ seriesId, events, isOpen }) => [seriesId, events.map(({ kind }) => kind), isOpen]),
  ).toEqual([
    [1, ['reset'], false],
    [2, ['register_change'], false],
    [3, ['reset'], false],
    [3, ['reset'], false],
  ]);
  // 10 Wh of the old register, and 4 Wh of the new one.
  expect(verdicts[1]!.events[0]!.energyWh).toBe(14);
});

test('readings of power are spikes up to the time that is judged, included', () => {
  const high = (hour: number, isBeyond: boolean) =>
    fall(1, hour, { from_value: isBeyond ? 5 : 50, to_value: isBeyond ? 50 : 5, is_beyond: isBeyond });
  const power = (judgedHour: number) =>
    judged(register(1, { method: 'power_curve', judging_to_ms: hours(judgedHour) }), [
      ...[high(10, true), high(11, false), high(20, true), high(21, false)],
    ]);
  expect(power(20)).toEqual({
    events: [
      ['spike', 10, 0],
      ['spike', 20, 0],
    ],
    redecided: [],
    endHour: undefined,
    isOpen: false,
  });
  expect(power(19).events).toEqual([['spike', 10, 0]]);
});
