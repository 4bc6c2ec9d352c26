import type { DuckDBConnection } from '@duckdb/node-api';
import type { EnergyMethod } from '../config/energy-stream.ts';
import type { UtcMs } from '../lib/time.ts';
import { query } from '../warehouse/query.ts';
import { instant, plainNumber, secondsText } from './explain-words.ts';
import { type Day, lineFlagBits, type Span } from './explained-day.ts';
import type { Boundary, Event, Segment, Sum } from './explained-schema.ts';

/**
 * A straight line of the index that reaches into the day, and its part inside the day, from `from_ms` to
 * `to_ms`: see explain/read_lines.
 */
export type Line = {
  begin_ms: number;
  begin_wh: number;
  end_ms: number;
  end_wh: number;
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
  begin_ms: number;
  begin_wh: number;
  end_ms: number;
  end_wh: number;
  midnight_ms: number;
  midnight_value: number;
};

interface RegisterTrace {
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
    lines: await query<Line>(connection, 'explain/read_lines', bounds),
    midnightAnchors: await query<MidnightAnchor>(connection, 'explain/find_midnight_anchor', {
      series_id: seriesId,
    }),
  };
}

/**
 * Joins lines on which the index continues into segments. The energy of a segment is the difference of its
 * rounded ends, which is the sum of its lines.
 */
export function segmentsOf({ lines }: RegisterTrace, events: readonly Event[], day: Day): Segment[] {
  const segments: Array<{ first: Line; last: Line; energyWh: number }> = [];
  for (const line of lines) {
    if (!line.covered) continue;
    const energyWh = line.to_rounded_wh - line.from_rounded_wh;
    const segment = segments.at(-1);
    if (segment && segment.last.end_ms === line.begin_ms && segment.last.end_wh === line.begin_wh) {
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
    ({ kind, to }) => ['reset', 'rollover', 'register_change'].includes(kind) && to === instant(line.end_ms),
  );
  if (joined) return joined.kind === 'register_change' ? 'the register was changed' : joined.kind;
  if (events.some(({ kind, to }) => kind === 'rebase' && to === instant(line.begin_ms))) return 'rebase';
  if (line.begin_ms < startMs) return 'the day begins';
  if (line.begin_ms === startMs) return line.begin_wh === 0 ? 'the day begins, at zero' : 'the day begins';
  return line.begin_wh === 0 ? 'the register restarts' : 'readings begin';
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
  const line = trace.lines.find(({ begin_ms, end_ms }) => begin_ms <= day.startMs && end_ms > day.startMs);
  const cut = line && {
    line,
    wh: line.from_wh,
    roundedWh: line.from_rounded_wh,
    share: line.from_share,
    powerWh: line.from_power_wh,
    knownMs: line.from_known_ms,
  };
  return boundaryAt(day.startMs, cut, line?.begin_ms === day.startMs, { trace, method, day });
}

/** The index at the end of the day. */
export function endBoundary(trace: RegisterTrace, method: EnergyMethod, day: Day): Boundary {
  const line = trace.lines.findLast(({ begin_ms, end_ms }) => begin_ms < day.endMs && end_ms >= day.endMs);
  const cut = line && {
    line,
    wh: line.to_wh,
    roundedWh: line.to_rounded_wh,
    share: line.to_share,
    powerWh: line.to_power_wh,
    knownMs: line.to_known_ms,
  };
  return boundaryAt(day.endMs, cut, line?.end_ms === day.endMs, { trace, method, day });
}

function boundaryAt(
  atMs: UtcMs,
  cut: Cut | undefined,
  isExact: boolean,
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
  if (!line.covered && !isExact) {
    const text = `nothing is known about the time from ${day.clock(line.begin_ms)} to ${day.clock(line.end_ms)}`;
    return { ...unknown, how: 'unknown', text };
  }
  const known = { ...unknown, indexWh, roundedWh };
  const anchor = trace.midnightAnchors.find(({ midnight_ms }) => midnight_ms === atMs);
  if (anchor) {
    return {
      ...known,
      how: 'daily_register',
      before: { time: instant(anchor.begin_ms), indexWh: anchor.begin_wh },
      after: { time: instant(anchor.end_ms), indexWh: anchor.end_wh },
      text: `the daily register beside it showed ${plainNumber(anchor.end_wh - anchor.midnight_value)} Wh at ${day.clock(anchor.end_ms)}, when this one stood at ${plainNumber(anchor.end_wh)} Wh: ${plainNumber(anchor.end_wh)} - ${plainNumber(anchor.end_wh - anchor.midnight_value)}`,
    };
  }
  if (isExact) {
    return method === 'daily_energy' && atMs === line.begin_ms && line.begin_wh === 0
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
  const before = { time: instant(line.begin_ms), indexWh: line.begin_wh };
  const after = { time: instant(line.end_ms), indexWh: line.end_wh };
  const growth = `${plainNumber(line.begin_wh)} + (${plainNumber(line.end_wh)} - ${plainNumber(line.begin_wh)})`;
  const [passed, all] = [secondsText(atMs - line.begin_ms), secondsText(line.end_ms - line.begin_ms)];
  if (share === null) {
    const fraction = (atMs - line.begin_ms) / (line.end_ms - line.begin_ms);
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

  /** How the growth is divided: see collect_silence_shape in chapter 64 of the roll-up. */
  function shapedText(): string {
    const [beforeWh, allWh] = [plainNumber(power.beforeWh), plainNumber(power.allWh)];
    const [known, knownAll] = [secondsText(power.beforeMilliseconds), secondsText(power.allMilliseconds)];
    const says = `by the power beside it ${beforeWh} of ${allWh} Wh came before`;
    const grownWh = line.end_wh - line.begin_wh;
    const evenWh =
      (grownWh * (line.end_ms - line.begin_ms - power.allMilliseconds)) / (line.end_ms - line.begin_ms);
    if (grownWh - power.allWh > evenWh)
      return `${growth} x (${passed} - ${known} + ${knownAll} x ${beforeWh} / ${allWh}) / ${all}: ${says}; it is known for ${known} before and ${knownAll} in all, and the rest gets its even share`;
    if (power.allWh >= grownWh)
      return `${growth} x ${beforeWh} / ${allWh}: ${says}, and that explains all of the growth`;
    return `${plainNumber(line.begin_wh)} + ${beforeWh} + (${plainNumber(grownWh)} - ${allWh}) x (${passed} - ${known}) / (${all} - ${knownAll}): ${says}; time without power gets the rest`;
  }
}

/**
 * The events that the lines show and that are not stored: high-water marks that were held or lowered,
 * yesterday's value still shown, midnights whose value is known.
 */
export function eventsOfLines(
  { lines, midnightAnchors }: RegisterTrace,
  stored: readonly Event[],
  method: EnergyMethod,
  { clock }: Day,
): Event[] {
  const rebased = lines.filter(
    ({ flags, end_ms }) => flags & lineFlagBits.rebase && !stored.some(({ to }) => to === instant(end_ms)),
  );
  const marked = (kind: 'jitter' | 'carry_over', bit: number, text: (span: Span) => string) =>
    joinSpans(
      lines
        .filter(({ flags }) => flags & bit)
        .map(({ begin_ms, end_ms }) => ({ fromMs: begin_ms, toMs: end_ms })),
    ).map(
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
      ({ begin_ms, end_ms, end_wh }): Event => ({
        kind: 'rebase',
        from: instant(begin_ms),
        to: instant(end_ms),
        valueBefore: null,
        valueAfter: end_wh,
        energyWh: 0,
        text:
          method === 'daily_energy'
            ? `its value at ${clock(end_ms)} does not continue the value at ${clock(begin_ms)} and is impossible since midnight: no energy`
            : `drifted by ${clock(end_ms)}: small falls together are more than its jitter; the high-water mark was lowered to ${plainNumber(end_wh)} Wh: no energy`,
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
      (anchor): Event => ({
        kind: 'midnight',
        from: instant(anchor.begin_ms),
        to: instant(anchor.end_ms),
        valueBefore: anchor.begin_wh,
        valueAfter: anchor.end_wh,
        energyWh: 0,
        text: `silent from ${clock(anchor.begin_ms)} to ${clock(anchor.end_ms)}; a daily register shows that it was at ${plainNumber(anchor.midnight_value)} Wh at midnight`,
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
