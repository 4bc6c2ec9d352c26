import type { DuckDBConnection } from '@duckdb/node-api';
import type { EnergyMethod } from '../config/energy-stream.ts';
import type { UtcMs } from '../lib/time.ts';
import type { StreamSettings } from '../rollup/bind-streams.ts';
import { bindDays, type RollUpContext, runStatement } from '../rollup/rollup-context.ts';
import { traceEnergy } from '../rollup/trace-energy.ts';
import { query } from '../warehouse/query.ts';
import { coverageText, uncoveredSpans } from './explain-coverage.ts';
import { flagsOf } from './explain-flags.ts';
import { readLimits } from './explain-limits.ts';
import { gapsOf, partsOf, powerSum, readPower } from './explain-power.ts';
import { readBracket, readEvents, readReadings } from './explain-readings.ts';
import {
  endBoundary,
  eventsOfLines,
  type Line,
  readRegister,
  registerSum,
  segmentsOf,
  startBoundary,
} from './explain-register.ts';
import { type Candidate, type Series, streamsOf } from './explain-series.ts';
import { readVersions } from './explain-versions.ts';
import { instant, plainNumber } from './explain-words.ts';
import { type Day, lineFlagBits, type Span } from './explained-day.ts';
import type { Event, ExplainedReading, ExplainedSource, Sum } from './explained-schema.ts';
import { readCorrections } from './read-corrections.ts';
import { readFlags, readIntervals, readResult, withField } from './read-result.ts';

interface SourceOptions {
  device: string;
  source: string;
  day: Day;
  streams: ReadonlyArray<StreamSettings & { streamId: number }>;
  /** Series of the device and source, in the order of the configuration; at least one. */
  series: readonly Series[];
}

/** Kinds of corrections that replace measured energy. */
const SETTING_KINDS: ReadonlySet<string> = new Set(['set', 'set_day', 'fill']);

/** Explains a day of one source of a device, from the stored day and the roll-up's own statements. */
export async function explainSource(
  context: RollUpContext,
  { device, source, day, streams, series }: SourceOptions,
): Promise<ExplainedSource> {
  const { connection } = context;
  const key = { device, source };
  const candidates = await traceDay(context, key, day);
  const flags = await readFlags(connection);
  const stored = await readResult(connection, key, day, flags.namesOf);
  const streamId = stored?.streamId ?? candidates.find(({ preference }) => preference === 1)?.stream_id;
  const shownSeries = series.find((one) => one.streamId === streamId) ?? series[0]!;

  const bracket = await readBracket(connection, shownSeries, day);
  const { readings, leftOut: readingsLeftOut } = await readReadings(connection, shownSeries, bracket);
  const leftOut = await query<{ series_id: number }>(connection, 'rollup/list_omitted_series');
  const isLeftOut = leftOut.some(({ series_id }) => series_id === shownSeries.seriesId);
  const energy = isLeftOut
    ? energyWithoutReadings(day)
    : await readEnergy(connection, shownSeries, bracket, day);
  const coverage = describeCoverage(candidates, energy.uncovered, day);
  const missing = await query<{ source: string }>(connection, 'explain/find_missing_sources', {
    device,
    day: day.day,
  });
  const result = stored && withField(stored, series);
  const corrections = await readCorrections(connection, key, day);
  // The series from which the day is read is not always the first one that covers it.
  const measuredWh =
    candidates.find(({ stream_id }) => stream_id === shownSeries.streamId)?.energy_wh ?? null;
  const isSet = corrections.some(({ kind, undoneBy }) => undoneBy === null && SETTING_KINDS.has(kind));
  const { lines, uncovered: _, sum, ...shown } = energy;
  return {
    source,
    result,
    streams: streamsOf(source, streams, series, candidates, day),
    limits: isLeftOut
      ? null
      : await readLimits(
          context,
          shownSeries,
          streams.find((one) => one.streamId === shownSeries.streamId)!,
          day,
        ),
    readings: annotateReadings(readings, lines),
    readingsLeftOut,
    ...shown,
    intervals: await readIntervals(connection, shownSeries, day),
    coverage,
    flags: flagsOf(result?.flags ?? [], flags.meanings, {
      events: energy.events,
      boundaries: energy.boundaries ? [energy.boundaries.start, energy.boundaries.end] : [],
      uncovered: coverage.uncovered,
      coverage: coverage.text,
      missing: missing.map((one) => one.source),
      contradictions: await readContradictions(connection, source, series),
      methods: candidates.map((one) => seriesSentence(one, series)),
      corrections,
    }),
    versions: await readVersions(connection, key, day, bracket, { flagNames: flags.namesOf, corrections }),
    corrections,
    measuredWh,
    sum: { ...sum, agrees: sum.energyWh === ((isSet ? measuredWh : result?.energyWh) ?? 0) },
  };
}

/**
 * Computes the day again, with the statements of the roll-up.
 * @returns what each method gives for it, as the roll-up would choose among them
 */
async function traceDay(
  context: RollUpContext,
  key: { device: string; source: string },
  { day, startMs, endMs }: Day,
): Promise<Candidate[]> {
  const { connection } = context;
  const bounds = { start_ms: BigInt(startMs), end_ms: BigInt(endMs) };
  await query(connection, 'explain/request_day', { ...key, ...bounds });
  if (!(await traceEnergy(context))) await bindDays(context, startMs, endMs, { byInterval: true });
  await query(connection, 'explain/touch_day', { ...key, ...bounds, day });
  await runStatement(context, 'collect_candidates', { low_ms: bounds.start_ms, high_ms: bounds.end_ms });
  await runStatement(context, 'substitute_methods');
  await runStatement(context, 'collect_contradictions');
  return query<Candidate>(connection, 'explain/read_candidates', { source: key.source });
}

function describeCoverage(candidates: readonly Candidate[], uncovered: readonly Span[], day: Day) {
  const coveredMilliseconds = candidates.find(({ preference }) => preference === 1)?.covered_ms ?? 0;
  return {
    coveredMilliseconds,
    uncovered: uncovered.map(({ fromMs, toMs }) => ({ from: instant(fromMs), to: instant(toMs) })),
    text: coverageText(coveredMilliseconds, uncovered, day),
  };
}

type Energy = Pick<ExplainedSource, 'events' | 'boundaries' | 'segments' | 'parts' | 'partsLeftOut'> & {
  sum: Omit<Sum, 'agrees'>;
  uncovered: Span[];
  lines: readonly Line[];
};

/** A series that is set aside: its energy is not computed. */
function energyWithoutReadings(day: Day): Energy {
  return {
    events: [],
    boundaries: null,
    segments: [],
    parts: [],
    partsLeftOut: 0,
    sum: { energyWh: 0, exactWh: null, text: 'not computed, because the series is set aside' },
    uncovered: uncoveredSpans([], day),
    lines: [],
  };
}

/** How the energy follows from the readings, by method. */
async function readEnergy(
  connection: DuckDBConnection,
  series: Series,
  bracket: Span,
  day: Day,
): Promise<Energy> {
  if (!isRegister(series.method)) {
    const power = await readPower(connection, series.seriesId, day);
    const parts = partsOf(power);
    const spikes = await readEvents(connection, series, bracket, day);
    return {
      events: [...spikes, ...gapsOf(power, day)].sort(byTime),
      boundaries: null,
      segments: [],
      parts,
      partsLeftOut: power.count - parts.length,
      sum: powerSum(power),
      uncovered: uncoveredSpans(power.covered, day),
      lines: [],
    };
  }
  const register = await readRegister(connection, series.seriesId, day);
  const stored = await readEvents(connection, series, bracket, day);
  const events = [...stored, ...eventsOfLines(register, stored, series.method, day)];
  const segments = segmentsOf(register, events, day);
  const covered = register.lines.filter((line) => line.covered);
  return {
    events: events.sort(byTime),
    boundaries: {
      start: startBoundary(register, series.method, day),
      end: endBoundary(register, series.method, day),
    },
    segments,
    parts: [],
    partsLeftOut: 0,
    sum: registerSum(segments),
    uncovered: uncoveredSpans(
      covered.map(({ from_ms, to_ms }) => ({ fromMs: from_ms, toMs: to_ms })),
      day,
    ),
    lines: register.lines,
  };
}

function byTime(one: Event, other: Event): number {
  return one.from < other.from ? -1 : one.from > other.from ? 1 : 0;
}

function isRegister(method: EnergyMethod): boolean {
  return method === 'total_energy' || method === 'daily_energy';
}

/** Adds notes to readings of a register that the index does not use as they are. */
export function annotateReadings(
  readings: readonly ExplainedReading[],
  lines: readonly Line[],
): ExplainedReading[] {
  const ending = firstBy(lines, ({ end_ms }) => end_ms);
  const beginning = firstBy(
    lines.filter(({ flags }) => (flags & lineFlagBits.joined) === 0),
    ({ begin_ms }) => begin_ms,
  );
  return readings.map((reading) => {
    if (reading.fate !== 'used' || reading.value === null) return reading;
    const atMs = Date.parse(reading.time);
    const line = ending.get(atMs);
    if (!line) {
      // No line ends at the first reading.
      const first = beginning.get(atMs);
      const isHeld = first?.covered && first.begin_wh > reading.value;
      return isHeld ? { ...reading, reason: 'jitter', indexWh: first.begin_wh } : reading;
    }
    const reason =
      line.flags & lineFlagBits.jitter ? 'jitter' : line.flags & lineFlagBits.carryOver ? 'carry_over' : null;
    return { ...reading, reason, indexWh: line.end_wh === reading.value ? null : line.end_wh };
  });
}

function firstBy(lines: readonly Line[], key: (line: Line) => UtcMs): Map<UtcMs, Line> {
  return new Map(lines.toReversed().map((line) => [key(line), line]));
}

/** The energy of other methods that contradict the chosen one. */
async function readContradictions(
  connection: DuckDBConnection,
  source: string,
  series: readonly Series[],
): Promise<string[]> {
  const rows = await query<{ stream_id: number; energy_wh: number }>(
    connection,
    'explain/read_contradictions',
    {
      source,
    },
  );
  return rows.map((row) => seriesSentence(row, series));
}

function seriesSentence(
  { stream_id, energy_wh }: { stream_id: number; energy_wh: number },
  series: readonly Series[],
): string {
  const { table, field, method } = series.find(({ streamId }) => streamId === stream_id)!;
  return `${table}.${field} (${method}) says ${plainNumber(energy_wh)} Wh`;
}
