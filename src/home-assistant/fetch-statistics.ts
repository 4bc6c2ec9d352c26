import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  addDays,
  dayStart,
  formatInstant,
  type LocalDate,
  lastDayOfMonth,
  localDateOf,
  type UtcMs,
} from '../lib/time.ts';
import type { HomeAssistant } from './connect-home-assistant.ts';
import { statisticsRowsSchema } from './home-assistant-messages.ts';
import type { Statistic } from './list-statistics.ts';

/** A statistic and the device and source that it becomes. */
export interface ChosenStatistic extends Statistic {
  device: string;
  source: string;
}

interface StatisticsRange {
  /** The first day (UTC). Default: the first of the statistics. */
  from?: LocalDate | undefined;
  /** The last day (UTC), included. It is over. */
  until: LocalDate;
}

/** Statistics of one request. Home Assistant answers with a message of about 1 MiB for a month of them. */
const STATISTICS_A_REQUEST = 20;

/**
 * Writes the hours of statistics to files of CSV: one for each month that is over, and one for each day of
 * the last month. The same statistics always give the same files, so an import recognizes files that it has
 * imported. Months without values have no file.
 * @returns the paths, in the order of time
 */
export async function fetchStatistics(
  homeAssistant: HomeAssistant,
  chosen: readonly ChosenStatistic[],
  { from, until }: StatisticsRange,
  { folder, onPeriod }: { folder: string; onPeriod?: (name: string) => void },
): Promise<string[]> {
  const first = from ?? (await firstDayOf(homeAssistant, chosen));
  const files: string[] = [];
  if (first === undefined) return files;
  for (const { name, startDay, endDay } of periodsOf(first, until)) {
    onPeriod?.(name);
    const range = { startMs: dayStart(startDay, 'Etc/UTC'), endMs: dayStart(addDays(endDay, 1), 'Etc/UTC') };
    const lines = await linesOf(homeAssistant, chosen, range);
    if (lines.length === 0) continue;
    const path = join(folder, `home-assistant-${name}.csv`);
    await writeFile(path, `time,device,source,energy_wh,power_w\n${lines.join('\n')}\n`, { mode: 0o600 });
    files.push(path);
  }
  return files;
}

/** The meaning of the columns of the files. */
export const statisticsMapping = {
  format: 'csv',
  time: { column: 'time' },
  device: { column: 'device' },
  source: { column: 'source' },
  fields: { energy_wh: 'energy_wh', power_w: 'power_w' },
} as const;

/** Months that are over on the day after `until`, and then days. */
function periodsOf(first: LocalDate, until: LocalDate) {
  const lastMonth = addDays(until, 1).slice(0, 7);
  const periods: Array<{ name: string; startDay: LocalDate; endDay: LocalDate }> = [];
  for (let day = first; day <= until; ) {
    const month = day.slice(0, 7);
    const endDay = month === lastMonth ? day : lastDayOfMonth(day);
    periods.push({ name: month === lastMonth ? day : month, startDay: day, endDay });
    day = addDays(endDay, 1);
  }
  return periods;
}

/** Home Assistant begins months in its own time zone, so the first one can begin a day before. */
async function firstDayOf(
  homeAssistant: HomeAssistant,
  chosen: readonly ChosenStatistic[],
): Promise<LocalDate | undefined> {
  const found = await ask(homeAssistant, chosen, { period: 'month', start_time: '1970-01-01T00:00:00Z' });
  const starts = Object.values(found).flatMap((rows) => rows.slice(0, 1).map(({ start }) => start));
  return starts.length === 0 ? undefined : addDays(localDateOf(Math.min(...starts), 'Etc/UTC'), -1);
}

/** A row has the sum and the mean at the end of its hour. */
async function linesOf(
  homeAssistant: HomeAssistant,
  chosen: readonly ChosenStatistic[],
  { startMs, endMs }: { startMs: UtcMs; endMs: UtcMs },
): Promise<string[]> {
  const lines: string[] = [];
  for (let index = 0; index < chosen.length; index += STATISTICS_A_REQUEST) {
    const some = chosen.slice(index, index + STATISTICS_A_REQUEST);
    const statistics = await ask(homeAssistant, some, {
      period: 'hour',
      start_time: formatInstant(startMs),
      end_time: formatInstant(endMs),
    });
    for (const { id, kind, device, source } of some)
      for (const { start, end, sum, mean } of statistics[id] ?? []) {
        const value = kind === 'energy' ? sum : mean;
        if (value === null || value === undefined || start < startMs || start >= endMs) continue;
        // Seven decimals of a Wh are noise of a division by the unit.
        const text = String(Math.round(value * 1_000) / 1_000);
        lines.push(
          `${formatInstant(end)},${device},${cell(source)},${kind === 'energy' ? `${text},` : `,${text}`}`,
        );
      }
  }
  return lines.toSorted();
}

async function ask(
  homeAssistant: HomeAssistant,
  chosen: readonly ChosenStatistic[],
  fields: { period: 'hour' | 'month'; start_time: string; end_time?: string },
) {
  return statisticsRowsSchema.parse(
    await homeAssistant.call('recorder/statistics_during_period', {
      ...fields,
      statistic_ids: chosen.map(({ id }) => id),
      types: ['sum', 'state', 'mean'],
      units: { energy: 'Wh', power: 'W' },
    }),
  );
}

function cell(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
