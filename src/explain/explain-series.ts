import type { DuckDBConnection } from '@duckdb/node-api';
import type { EnergyMethod } from '../config/energy-stream.ts';
import { formatInstantOrNull, type UtcMs } from '../lib/time.ts';
import type { StreamSettings } from '../rollup/bind-streams.ts';
import { ruleConstants } from '../rollup/rule-constants.ts';
import { query } from '../warehouse/query.ts';
import { instant, plainNumber } from './explain-words.ts';
import type { Day } from './explained-day.ts';
import type { ExplainedStream, Known } from './explained-schema.ts';

/** A configured stream of a device and source that has readings. */
export interface Series {
  seriesId: number;
  streamId: number;
  device: string;
  source: string;
  table: string;
  field: string;
  /** The source to which its energy is booked, instead of the source that messages name. */
  as: string | null;
  method: EnergyMethod;
  firstMs: UtcMs;
  lastMs: UtcMs;
}

/** The series of a device, by source and in the order of the configuration. */
export async function readSeries(connection: DuckDBConnection, device: string): Promise<Series[]> {
  const rows = await query<{
    series_id: number;
    source: string;
    stream_id: number;
    table_name: string;
    field: string;
    as_source: string | null;
    method: EnergyMethod;
    first_ms: number;
    last_ms: number;
  }>(connection, 'explain/find_series', { device });
  return rows.map((row) => ({
    seriesId: row.series_id,
    streamId: row.stream_id,
    device,
    source: row.source,
    table: row.table_name,
    field: row.field,
    as: row.as_source,
    method: row.method,
    firstMs: row.first_ms,
    lastMs: row.last_ms,
  }));
}

export function describeSeries({ source, table, field, as, method, firstMs, lastMs }: Series): Known {
  return { source, table, field, as, method, firstReading: instant(firstMs), lastReading: instant(lastMs) };
}

/** The energy of a stream on a day, if it covers any of it. `preference` 1 is chosen. */
export type Candidate = {
  stream_id: number;
  series_id: number;
  energy_wh: number;
  covered_ms: number;
  coverage: number;
  preference: number;
};

/** Every configured stream, with the reason why the day of a source is read from it or not. */
export function streamsOf(
  source: string,
  configured: ReadonlyArray<StreamSettings & { streamId: number }>,
  series: readonly Series[],
  candidates: readonly Candidate[],
  day: Day,
): ExplainedStream[] {
  const bestMs = candidates.reduce((most, { covered_ms }) => Math.max(most, covered_ms), 0);
  const chosen = candidates.find(({ preference }) => preference === 1);
  const chosenAt = configured.findIndex(({ streamId }) => streamId === chosen?.stream_id);
  const firstAt = configured.findIndex(({ as = source }) => as === source);
  return configured.map(({ streamId, table, field, as = null, method, unit }, index) => {
    const own = series.find((one) => one.streamId === streamId);
    const candidate = candidates.find((one) => one.stream_id === streamId);
    return {
      place: index + 1,
      table,
      field,
      as,
      method,
      unit,
      chosen: candidate !== undefined && candidate === chosen,
      reason: reasonOf(
        { own, elsewhere: as === source ? null : as, candidate, index, firstAt, chosenAt, bestMs },
        day,
      ),
      energyWh: candidate?.energy_wh ?? null,
      coverage: candidate?.coverage ?? null,
      firstReading: formatInstantOrNull(own?.firstMs ?? null),
      lastReading: formatInstantOrNull(own?.lastMs ?? null),
    };
  });
}

function reasonOf(
  about: {
    own: Series | undefined;
    /** The other source to which it is booked. */
    elsewhere: string | null;
    candidate: Candidate | undefined;
    index: number;
    /** The first stream whose energy can belong to this source. */
    firstAt: number;
    chosenAt: number;
    /** How much of the day the stream covers that covers most. */
    bestMs: number;
  },
  { clock, startMs, endMs }: Day,
): string {
  const { own, elsewhere, candidate, index, firstAt, chosenAt, bestMs } = about;
  if (!own && elsewhere !== null) return `its energy is booked as source ${elsewhere}`;
  if (!own) return 'it has no reading of this source';
  if (!candidate) {
    return `its readings, from ${clock(own.firstMs)} to ${clock(own.lastMs)}, do not cover the day`;
  }
  const covers = `covers ${percentText(candidate.coverage)} of the day`;
  const dayMs = endMs - startMs;
  // In milliseconds, as chapter 80 of the roll-up compares it. Shares are rounded.
  const coversEnough = candidate.covered_ms >= bestMs - ruleConstants.covering_share.value * dayMs;
  if (index === chosenAt) {
    if (index === firstAt) return `the first in the order, ${covers}`;
    return coversEnough
      ? `the first in the order that covers enough: ${percentText(candidate.coverage)} of the day`
      : `the first in the order that does not stand still; ${covers}`;
  }
  if (index > chosenAt) return `comes after the chosen one in the order; ${covers}`;
  if (coversEnough) return `${covers}, but stands still, while another method has measured energy`;
  return `${covers}, more than half a day less than the ${percentText(bestMs / dayMs)} of the one that covers most`;
}

export function percentText(part: number): string {
  return `${plainNumber(Math.round(part * 10_000) / 100)} %`;
}
