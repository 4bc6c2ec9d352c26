import { TransientError } from '../lib/errors.ts';
import { dayStart, formatInstant, HOUR_MS, type LocalDate, type UtcMs } from '../lib/time.ts';
import type { HomeAssistant } from './connect-home-assistant.ts';
import { statisticsRowsSchema } from './home-assistant-messages.ts';

/** The daily energy of one device or source. */
export interface DailySeries {
  /** The id of the statistic. */
  id: string;
  name: string;
  /** Wh by local day. Days that are not known are absent. */
  days: Readonly<Record<LocalDate, number>>;
}

/** The values of a statistic for an hour, in Wh. */
interface SumRow {
  stateWh: number;
  sumWh: number;
}

const ROWS_A_MESSAGE_MAX = 1_000;

/**
 * Makes an external statistic of Home Assistant say the same as a series. Each known day has one row, at the
 * first full hour (UTC) of the local day: its energy, and the sum of all days until its end. Only rows that
 * differ are sent, so an interrupted or repeated call is harmless. Rows cannot be deleted there: a row
 * without a day gets no energy, and the sum before it. Rows before the first day stay, and their sum goes on.
 * @param untilMs rows from this instant on are left alone
 * @returns how many rows were sent
 * @throws TransientError without an answer that is understood, TerminalError if a command is refused
 */
export async function sendDailySums(
  homeAssistant: HomeAssistant,
  { id, name, days }: DailySeries,
  { zone, untilMs }: { zone: string; untilMs: UtcMs },
): Promise<number> {
  const energies = new Map(
    Object.entries(days).map(([day, energyWh]) => [firstFullHour(dayStart(day, zone)), energyWh]),
  );
  if (energies.size === 0) return 0;
  const stored = await readRows(homeAssistant, id);
  const stats = changedRows(energies, stored, untilMs);
  for (let index = 0; index < stats.length; index += ROWS_A_MESSAGE_MAX)
    await homeAssistant.call('recorder/import_statistics', {
      metadata: {
        statistic_id: id,
        source: 'wattline',
        name,
        unit_of_measurement: 'kWh',
        unit_class: 'energy',
        has_sum: true,
        mean_type: 0,
      },
      stats: stats.slice(index, index + ROWS_A_MESSAGE_MAX),
    });
  return stats.length;
}

/**
 * Home Assistant takes full hours (UTC) only. Some zones begin a day at half past or a quarter to an hour.
 * The row is then at the next full hour, because the hour before belongs to the day before.
 */
function firstFullHour(startMs: UtcMs): UtcMs {
  return Math.ceil(startMs / HOUR_MS) * HOUR_MS;
}

async function readRows(homeAssistant: HomeAssistant, id: string): Promise<Map<UtcMs, SumRow>> {
  const answer = await homeAssistant.call('recorder/statistics_during_period', {
    start_time: '1970-01-01T00:00:00Z',
    statistic_ids: [id],
    period: 'hour',
    types: ['state', 'sum'],
    units: { energy: 'kWh' },
  });
  const parsed = statisticsRowsSchema.safeParse(answer);
  if (!parsed.success)
    throw new TransientError(
      'HomeAssistantUnknown',
      `Home Assistant answers about ${id} with something that is not understood; check the address`,
    );
  const rows = (parsed.data[id] ?? []).filter(({ start }) => start % HOUR_MS === 0);
  return new Map(rows.map(({ start, state, sum }) => [start, { stateWh: toWh(state), sumWh: toWh(sum) }]));
}

function changedRows(
  energies: ReadonlyMap<UtcMs, number>,
  stored: ReadonlyMap<UtcMs, SumRow>,
  untilMs: UtcMs,
): Array<{ start: string; state: number; sum: number }> {
  const firstMs = Math.min(...energies.keys());
  const lastBefore = [...stored.keys()].filter((startMs) => startMs < firstMs).sort((a, b) => b - a)[0];
  let sumWh = lastBefore === undefined ? 0 : stored.get(lastBefore)!.sumWh;
  const starts = new Set([...energies.keys(), ...stored.keys()].toSorted((a, b) => a - b));
  return [...starts].flatMap((startMs) => {
    if (startMs < firstMs || startMs >= untilMs) return [];
    const stateWh = energies.get(startMs) ?? 0;
    sumWh += stateWh;
    const storedRow = stored.get(startMs);
    if (storedRow?.sumWh === sumWh && storedRow.stateWh === stateWh) return [];
    return [{ start: formatInstant(startMs), state: stateWh / 1_000, sum: sumWh / 1_000 }];
  });
}

function toWh(energyKwh: number | null | undefined): number {
  return Math.round((energyKwh ?? 0) * 1_000);
}
