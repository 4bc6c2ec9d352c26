import type { DuckDBConnection } from '@duckdb/node-api';
import type { EnergyMethod } from '../config/energy-stream.ts';
import type { UtcMs } from '../lib/time.ts';
import { query } from '../warehouse/query.ts';
import { instant, plainNumber, seconds } from './explain-words.ts';
import { type Day, lineFlagBits, type Span } from './explained-day.ts';
import type { Boundary, Event, Segment, Sum } from './explained-schema.ts';

/** A straight line of the index that reaches into the day: see explain/find_lines. */
export type Line = {
  t0: number;
  c0: number;
  t1: number;
  c1: number;
  covered: boolean;
  flags: number;
  from_ms: number;
  from_wh: number;
  from_rounded_wh: number;
  to_ms: number;
  to_wh: number;
  to_rounded_wh: number;
  from_share: number | null;
  from_power_wh: number | null;
  from_known_ms: number | null;
  to_share: number | null;
  to_power_wh: number | null;
  to_known_ms: number | null;
  power_wh: number | null;
  known_ms: number | null;
};
type MidnightAnchor = {
  t0: number;
  c0: number;
  t1: number;
  c1: number;
  midnight_ms: number;
  midnight_value: number;
};

export interface RegisterTrace {
  lines: readonly Line[];
  midnightAnchors: readonly MidnightAnchor[];
}

/** The lines of a register on the day, from the tables of `traceEnergy`. */
export async function readRegister(
  connection: DuckDBConnection,
  seriesId: number,
  { startMs, endMs }: Day,
): Promise<RegisterTrace> {
  const bounds = { series_id: seriesId, start_ms: BigInt(startMs), end_ms: BigInt(endMs) };
  return {
    lines: await query<Line>(connection, 'explain/find_lines', bounds),
    midnightAnchors: await query<MidnightAnchor>(connection, 'explain/find_midnight_anchor', {
      series_id: seriesId,
    }),
  };
}

/** Joins lines on which the index continues into segments. The energy of a segment is the difference of its rounded ends, which is the sum of its lines. */
export function segmentsOf({ lines }: RegisterTrace, events: readonly Event[], day: Day): Segment[] {
  const segments: Array<{ first: Line; last: Line; energyWh: number }> = [];
  for (const line of lines) {
    if (!line.covered) continue;
    const energyWh = line.to_rounded_wh - line.from_rounded_wh;
    const segment = segments.at(-1);
    if (segment && segment.last.t1 === line.t0 && segment.last.c1 === line.c0) {
      segment.last = line;
      segment.energyWh += energyWh;
    } else segments.push({ first: line, last: line, energyWh });
  }
  return segments.map(({ first, last, energyWh }) => ({
    from: instant(first.from_ms),
    to: instant(last.to_ms),
    fromWh: first.from_wh,
    toWh: last.to_wh,
    energyWh,
    begins: beginningOf(first, events, day),
  }));
}

function beginningOf(line: Line, events: readonly Event[], { startMs }: Day): string {
  const joined = events.find(
    ({ kind, to }) => ['reset', 'rollover', 'register_change'].includes(kind) && to === instant(line.t1),
  );
  if (joined) return joined.kind === 'register_change' ? 'the register was changed' : joined.kind;
  if (events.some(({ kind, to }) => kind === 'rebase' && to === instant(line.t0))) return 'rebase';
  if (line.t0 < startMs) return 'the day begins';
  if (line.t0 === startMs) return line.c0 === 0 ? 'the day begins, at zero' : 'the day begins';
  return line.c0 === 0 ? 'the register restarts' : 'readings begin';
}

/** A bound of the day, and the line of the index that it cuts. */
interface Cut {
  line: Line;
  wh: number;
  roundedWh: number;
  share: number | null;
  powerWh: number | null;
  knownMs: number | null;
}

/** The index at the start of the day. */
export function startBoundary(trace: RegisterTrace, method: EnergyMethod, day: Day): Boundary {
  const line = trace.lines.find(({ t0, t1 }) => t0 <= day.startMs && t1 > day.startMs);
  const cut = line && {
    line,
    wh: line.from_wh,
    roundedWh: line.from_rounded_wh,
    share: line.from_share,
    powerWh: line.from_power_wh,
    knownMs: line.from_known_ms,
  };
  return boundaryAt(day.startMs, cut, line?.t0 === day.startMs, { trace, method, day });
}

/** The index at the end of the day. */
export function endBoundary(trace: RegisterTrace, method: EnergyMethod, day: Day): Boundary {
  const line = trace.lines.findLast(({ t0, t1 }) => t0 < day.endMs && t1 >= day.endMs);
  const cut = line && {
    line,
    wh: line.to_wh,
    roundedWh: line.to_rounded_wh,
    share: line.to_share,
    powerWh: line.to_power_wh,
    knownMs: line.to_known_ms,
  };
  return boundaryAt(day.endMs, cut, line?.t1 === day.endMs, { trace, method, day });
}

function boundaryAt(
  atMs: UtcMs,
  cut: Cut | undefined,
  exactly: boolean,
  { trace, method, day }: { trace: RegisterTrace; method: EnergyMethod; day: Day },
): Boundary {
  const time = instant(atMs);
  const unknown = {
    time,
    indexWh: null,
    roundedWh: null,
    before: null,
    after: null,
    fraction: null,
    power: null,
  };
  if (!cut) {
    const text = 'there is no reading on one side, so no energy is booked there';
    return { ...unknown, how: 'unknown', text };
  }
  const { line, wh: indexWh, roundedWh } = cut;
  if (!line.covered && !exactly) {
    const text = `nothing is known about the time from ${day.clock(line.t0)} to ${day.clock(line.t1)}`;
    return { ...unknown, how: 'unknown', text };
  }
  const known = { ...unknown, indexWh, roundedWh };
  const anchor = trace.midnightAnchors.find(({ midnight_ms }) => midnight_ms === atMs);
  if (anchor) {
    return {
      ...known,
      how: 'daily_register',
      before: { time: instant(anchor.t0), indexWh: anchor.c0 },
      after: { time: instant(anchor.t1), indexWh: anchor.c1 },
      text: `the daily register beside it showed ${plainNumber(anchor.c1 - anchor.midnight_value)} Wh at ${day.clock(anchor.t1)}, when this one stood at ${plainNumber(anchor.c1)} Wh: ${plainNumber(anchor.c1)} - ${plainNumber(anchor.c1 - anchor.midnight_value)}`,
    };
  }
  if (exactly) {
    return method === 'daily_energy' && atMs === line.t0 && line.c0 === 0
      ? { ...known, how: 'restart', text: 'the register restarts every day' }
      : { ...known, how: 'reading', text: 'there is a reading at this instant' };
  }
  return { ...known, ...onLine(atMs, cut) };
}

/** A boundary between two readings: on a straight line, or by the power beside it. */
function onLine(
  atMs: UtcMs,
  { line, share, powerWh, knownMs }: Cut,
): Pick<Boundary, 'how' | 'before' | 'after' | 'fraction' | 'power' | 'text'> {
  const before = { time: instant(line.t0), indexWh: line.c0 };
  const after = { time: instant(line.t1), indexWh: line.c1 };
  const growth = `${plainNumber(line.c0)} + (${plainNumber(line.c1)} - ${plainNumber(line.c0)})`;
  const [passed, all] = [seconds(atMs - line.t0), seconds(line.t1 - line.t0)];
  if (share === null) {
    const fraction = (atMs - line.t0) / (line.t1 - line.t0);
    return {
      how: 'interpolated',
      before,
      after,
      fraction,
      power: null,
      text: `${growth} x ${passed} / ${all}`,
    };
  }
  const power = {
    beforeWh: powerWh!,
    allWh: line.power_wh!,
    beforeMilliseconds: knownMs!,
    allMilliseconds: line.known_ms!,
  };
  return { how: 'shaped', before, after, fraction: share, power, text: shapedText() };

  /** How the growth is divided: see find_silence_shape in chapter 60 of the roll-up. */
  function shapedText(): string {
    const [beforeWh, allWh] = [plainNumber(power.beforeWh), plainNumber(power.allWh)];
    const [known, knownAll] = [seconds(power.beforeMilliseconds), seconds(power.allMilliseconds)];
    const says = `by the power beside it ${beforeWh} of ${allWh} Wh came before`;
    const grownWh = line.c1 - line.c0;
    const evenWh = (grownWh * (line.t1 - line.t0 - power.allMilliseconds)) / (line.t1 - line.t0);
    if (grownWh - power.allWh > evenWh)
      return `${growth} x (${passed} - ${known} + ${knownAll} x ${beforeWh} / ${allWh}) / ${all}: ${says}; it is known for ${known} before and ${knownAll} in all, and the rest gets its even share`;
    if (power.allWh >= grownWh)
      return `${growth} x ${beforeWh} / ${allWh}: ${says}, and that explains all of the growth`;
    return `${plainNumber(line.c0)} + ${beforeWh} + (${plainNumber(grownWh)} - ${allWh}) x (${passed} - ${known}) / (${all} - ${knownAll}): ${says}; time without power gets the rest`;
  }
}

/**
 * The events that the lines show and that are not stored: high-water marks that were held or lowered, yesterday's value still shown, midnights
 * whose value is known.
 */
export function eventsOfLines(
  { lines, midnightAnchors }: RegisterTrace,
  stored: readonly Event[],
  method: EnergyMethod,
  { clock }: Day,
): Event[] {
  const rebased = lines.filter(
    ({ flags, t1 }) => flags & lineFlagBits.rebase && !stored.some(({ to }) => to === instant(t1)),
  );
  const marked = (kind: 'jitter' | 'carry_over', bit: number, text: (span: Span) => string) =>
    joinSpans(lines.filter(({ flags }) => flags & bit).map(({ t0, t1 }) => ({ fromMs: t0, toMs: t1 }))).map(
      (span): Event => ({
        kind,
        from: instant(span.fromMs),
        to: instant(span.toMs),
        valueBefore: null,
        valueAfter: null,
        energyWh: 0,
        text: text(span),
      }),
    );
  return [
    ...rebased.map(
      ({ t0, t1, c1 }): Event => ({
        kind: 'rebase',
        from: instant(t0),
        to: instant(t1),
        valueBefore: null,
        valueAfter: c1,
        energyWh: 0,
        text:
          method === 'daily_energy'
            ? `its value at ${clock(t1)} does not continue the value at ${clock(t0)} and is impossible since midnight: no energy`
            : `drifted by ${clock(t1)}: small falls together are more than its jitter; the high-water mark was lowered to ${plainNumber(c1)} Wh: no energy`,
      }),
    ),
    ...marked(
      'jitter',
      lineFlagBits.jitter,
      ({ fromMs, toMs }) =>
        `fell by no more than its jitter between ${clock(fromMs)} and ${clock(toMs)}; the high-water mark was held`,
    ),
    ...marked(
      'carry_over',
      lineFlagBits.carryOver,
      ({ fromMs, toMs }) => `showed the day before from ${clock(fromMs)} to ${clock(toMs)}: no energy`,
    ),
    ...midnightAnchors.map(
      (one): Event => ({
        kind: 'midnight',
        from: instant(one.t0),
        to: instant(one.t1),
        valueBefore: one.c0,
        valueAfter: one.c1,
        energyWh: 0,
        text: `silent from ${clock(one.t0)} to ${clock(one.t1)}; a daily register shows that it was at ${plainNumber(one.midnight_value)} Wh at midnight`,
      }),
    ),
  ];
}

/** Joins spans that follow each other, in order. */
export function joinSpans(spans: readonly Span[]): Span[] {
  const joined: Span[] = [];
  for (const { fromMs, toMs } of spans) {
    const last = joined.at(-1);
    if (last && fromMs <= last.toMs) last.toMs = Math.max(last.toMs, toMs);
    else joined.push({ fromMs, toMs });
  }
  return joined;
}

export function registerSum(segments: readonly Segment[]): Omit<Sum, 'agrees'> {
  const energyWh = segments.reduce((sum, one) => sum + one.energyWh, 0);
  const terms = segments.map(({ fromWh, energyWh: wh }) => {
    // Rounded like the energy: the rounded beginning plus the growth.
    const from = Math.sign(fromWh) * Math.round(Math.abs(fromWh));
    return `(${plainNumber(from + wh)} ${from < 0 ? '+' : '-'} ${plainNumber(Math.abs(from))})`;
  });
  return { energyWh, exactWh: null, text: `${terms.join(' + ') || '0'} = ${plainNumber(energyWh)} Wh` };
}
