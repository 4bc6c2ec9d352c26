import type { DuckDBConnection } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config/config.ts';
import { formatCountOf } from '../lib/format-count.ts';
import { DAY_MS, dayBounds, HOUR_MS, type LocalDate, type UtcMs } from '../lib/time.ts';
import { bindStoredStreams } from '../rollup/bind-streams.ts';
import { createTemporaryTables, type RollUpContext, runStatement } from '../rollup/rollup-context.ts';
import { declareDevices } from '../warehouse/declared-devices.ts';
import { query } from '../warehouse/query.ts';
import { explainDevice } from './explain-device.ts';
import { describeSeries, readSeries, type Series } from './explain-series.ts';
import { explainSource } from './explain-source.ts';
import { instant, plainNumber, timeOfDayFormat } from './explain-words.ts';
import type { Day } from './explained-day.ts';
import type { ExplainArgs, Explained, ExplainedDevice, ExplainedSource } from './explained-schema.ts';

interface ExplainOptions {
  workgroup: WorkgroupConfig;
  nowMs: UtcMs;
  /** As in the roll-up: it decides from how many later days limits are learnt. */
  closeAfterMs: number;
}

/**
 * Explains a day of a device: everything from which its reported energy follows, in one snapshot of the
 * warehouse, with the roll-up's own statements. Writes only temporary tables of the connection.
 */
export async function explainDay(
  connection: DuckDBConnection,
  args: ExplainArgs,
  options: ExplainOptions,
): Promise<Explained> {
  await connection.run('BEGIN');
  try {
    return await explain(connection, args, options);
  } finally {
    await connection.run('ROLLBACK');
  }
}

async function explain(
  connection: DuckDBConnection,
  { device, day: date, source }: ExplainArgs,
  { workgroup, nowMs, closeAfterMs }: ExplainOptions,
): Promise<Explained> {
  const streams = await bindStoredStreams(connection);
  const timezone = streams[0]?.timezone ?? workgroup.timezone;
  const bound: RollUpContext = { connection, timezone, closeAfterMs };
  await runStatement(bound, 'collect_rules', { all: true, is_chosen: false });
  await createTemporaryTables(bound);
  // A series that is set aside cannot be traced. Its readings and its stored energy are shown.
  await runStatement(bound, 'collect_omitted_series');
  await runStatement(bound, 'drop_omitted_rules');
  await runStatement(bound, 'collect_register_changes');
  const { startMs, endMs } = dayBounds(date, date, timezone)[0]!;
  const day: Day = { day: date, startMs, endMs, clock: timeOfDayFormat(date, timezone) };

  const allSeries = await readSeries(connection, device);
  const bySource = Map.groupBy(allSeries, (series) => series.source);
  const wantedSources = source === undefined ? [...bySource.keys()] : bySource.has(source) ? [source] : [];
  const sources: ExplainedSource[] = [];
  if (endMs > startMs && startMs <= nowMs) {
    for (const name of wantedSources) {
      const series = bySource.get(name)!;
      if (!isNear(series, day) && !(await hasVersions(connection, { device, source: name, day: date })))
        continue;
      const explained = await explainSource(bound, {
        device,
        source: name,
        day,
        streams,
        series,
      });
      if (explained.result || explained.versions.length > 0 || hasReadings(explained, day))
        sources.push(explained);
    }
  }
  await declareDevices(connection, workgroup);
  const wholeDevice = allSeries.length === 0 ? null : await explainDevice(connection, { device, day });
  const countingSources = wholeDevice?.sources.filter(({ counts }) => counts).map((one) => one.source) ?? [];
  const addedSources =
    source === undefined ? sources.filter((one) => countingSources.includes(one.source)) : sources;
  const energyWh =
    source === undefined ? (wholeDevice?.energyWh ?? null) : (sources[0]?.result?.energyWh ?? null);
  const { outcome, text } = describeOutcome({
    date,
    timezone,
    day,
    nowMs,
    allSeries,
    source,
    sources,
    addedSources,
    wholeDevice,
    energyWh,
  });
  return {
    workgroup: workgroup.id,
    timezone,
    device,
    name: workgroup.devices.find(({ id }) => id === device)?.name ?? null,
    day: date,
    start: instant(startMs),
    end: instant(endMs),
    hours: (endMs - startMs) / HOUR_MS,
    outcome,
    text,
    takenIn: await readTakenIn(connection),
    energyWh,
    countingSources,
    wholeDevice,
    sources,
    known: allSeries.map(describeSeries),
    nearestDays: await readNearestDays(connection, device, date),
  };
}

function hasReadings({ readings }: ExplainedSource, { startMs, endMs }: Day): boolean {
  const [from, to] = [instant(startMs), instant(endMs)];
  return readings.some(({ time }) => time >= from && time < to);
}

/**
 * True if the day is near some reading. The trace of a day far from all readings would process years of
 * intervals.
 */
function isNear(series: readonly Series[], { startMs, endMs }: Day): boolean {
  return series.some(({ firstMs, lastMs }) => firstMs - DAY_MS < endMs && lastMs + DAY_MS > startMs);
}

async function hasVersions(
  connection: DuckDBConnection,
  key: { device: string; source: string; day: LocalDate },
): Promise<boolean> {
  return (await query(connection, 'explain/find_versions', key)).length > 0;
}

/** The outcome of an explanation, and its energy or why there is none, as a sentence. */
export function describeOutcome(facts: {
  date: LocalDate;
  timezone: string;
  day: Day;
  nowMs: UtcMs;
  allSeries: readonly Series[];
  source: string | undefined;
  sources: readonly ExplainedSource[];
  /** The sources whose energy is added up. */
  addedSources: readonly ExplainedSource[];
  wholeDevice: ExplainedDevice | null;
  energyWh: number | null;
}): Pick<Explained, 'outcome' | 'text'> {
  const { date, timezone, day, nowMs, allSeries, source, sources, addedSources, wholeDevice, energyWh } =
    facts;
  if (allSeries.length === 0) {
    return {
      outcome: 'unknown_device',
      text: 'none of the configured energy streams has a reading of this device',
    };
  }
  if (source !== undefined && !allSeries.some((one) => one.source === source)) {
    const names = [...new Set(allSeries.map((one) => one.source))].join(', ');
    return {
      outcome: 'unknown_source',
      text: `the device has no readings of a source "${source}"; it has ${names}`,
    };
  }
  if (day.endMs <= day.startMs)
    return { outcome: 'no_day', text: `${timezone} skipped ${date}: this day did not exist` };
  if (day.startMs > nowMs) return { outcome: 'future', text: `${date} has not begun in ${timezone}` };
  if (sources.length === 0) return { outcome: 'no_readings', text: `${date} has no readings and no energy` };
  const running = day.endMs > nowMs ? ', and the day is not over' : '';
  if (energyWh === null && sources.some(({ result }) => result)) {
    return {
      outcome: 'explained',
      text: `incomplete: ${wholeDevice?.text}, and of that there is no energy on this day; what other sources have is not added up${running}`,
    };
  }
  if (energyWh === null) return { outcome: 'explained', text: `there are readings, but no energy${running}` };
  return {
    outcome: 'explained',
    text: `${plainNumber(energyWh)} Wh${addedSources.length > 1 ? `, from ${formatCountOf(addedSources.length, 'source')}` : ''}${running}`,
  };
}

async function readTakenIn(connection: DuckDBConnection): Promise<Explained['takenIn']> {
  const [row] = await query<{ batch: string | null; waiting: number }>(connection, 'explain/find_taken_in');
  return { batch: row!.batch, batchesWaiting: row!.waiting };
}

async function readNearestDays(
  connection: DuckDBConnection,
  device: string,
  day: LocalDate,
): Promise<Explained['nearestDays']> {
  const [row] = await query<{ before: string | null; after: string | null }>(
    connection,
    'explain/find_nearest_days',
    { device, day },
  );
  return { before: row?.before ?? null, after: row?.after ?? null };
}
