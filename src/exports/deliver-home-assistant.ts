import type { ExportConfig } from '../config/export-settings.ts';
import { connectHomeAssistant } from '../home-assistant/connect-home-assistant.ts';
import { energyStatisticId } from '../home-assistant/energy-statistic-id.ts';
import { type DailySeries, sendDailySums } from '../home-assistant/send-daily-sums.ts';
import { TerminalError, TransientError } from '../lib/errors.ts';
import { formatCount, formatCountOf } from '../lib/format-count.ts';
import { addDays, type Clock, dayStart, localDateOf } from '../lib/time.ts';
import type { LakeReader } from '../report/lake/lake-reader.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import { queryText } from '../warehouse/query.ts';
import type { ExportQuery } from './exported-report.ts';
import { openReport } from './open-report.ts';
import { requireGeneration } from './require-generation.ts';

export interface HomeAssistantDeps {
  lake: LakeReader;
  clock: Clock;
}

const SERIES_MAX = 1_000;

/**
 * Brings the statistics of Home Assistant up to date. It sends all days of the newest generation that are
 * over, and not only the days of the period. Home Assistant stores sums, and a sum contains all earlier days.
 * So a day that was restated is right after the next delivery.
 * @throws TransientError that says what to do, without the token; TerminalError if there are too many devices
 *   and sources
 */
export async function deliverToHomeAssistant(
  address: NonNullable<ExportConfig['destination']['homeAssistant']>,
  query: ExportQuery,
  { lake, clock }: HomeAssistantDeps,
  signal: AbortSignal,
): Promise<string> {
  const zone = query.workgroup.timezone;
  const today = localDateOf(clock.now(), zone);
  const all = await readSeries(query, addDays(today, -1), lake, signal);
  try {
    const homeAssistant = await connectHomeAssistant(address, signal);
    let rows = 0;
    try {
      for (const series of all)
        rows += await sendDailySums(homeAssistant, series, { zone, untilMs: dayStart(today, zone) });
    } finally {
      homeAssistant.close();
    }
    return `Home Assistant at ${new URL(address.url).host}: ${formatCountOf(rows, 'changed row')} of ${formatCountOf(all.length, 'statistic')}`;
  } catch (error) {
    // The delivery is tried again after a refusal, because a person can correct the cause in Home Assistant.
    if (error instanceof TerminalError) throw new TransientError(error.code, error.message, { cause: error });
    throw error;
  }
}

async function readSeries(
  query: ExportQuery,
  endDay: string,
  lake: LakeReader,
  signal: AbortSignal,
): Promise<DailySeries[]> {
  const { workgroup } = query;
  const generation = await requireGeneration(lake, workgroup.id);
  const months = generation.files('daily_energy').map(({ period }) => period);
  const [firstMonth] = months.toSorted();
  if (firstMonth === undefined) return [];
  const report = await openReport(query, { generation, lake, signal });
  const { reads, sql, parameters, columns } = report.rows({ startDay: `${firstMonth}-01`, endDay });
  const source = columns.includes('source') ? '' : ', NULL::VARCHAR AS source';
  const rows = await lake.run(
    reads,
    (connection) =>
      queryText<{ device: string; device_name: string | null; source: string | null; days: string }>(
        connection,
        `WITH day_row AS (SELECT *${source} FROM (\n${sql}\n))\n${loadSql('export/list_daily_series')}`,
        { ...parameters, series_max: SERIES_MAX },
      ),
    signal,
  );
  if (rows.length > SERIES_MAX)
    throw new TerminalError(
      'TooManyStatistics',
      `there are more than ${formatCount(SERIES_MAX)} devices and sources; choose devices, and make several exports`,
    );
  return rows.map(({ device, device_name, source: name, days }) => ({
    id: energyStatisticId(workgroup.id, device, name),
    name: [device_name ?? device, ...(name === null ? [] : [name])].join(' '),
    days: JSON.parse(days) as DailySeries['days'],
  }));
}
