import type { DuckDBConnection } from '@duckdb/node-api';
import { formatCountOf } from '../lib/format-count.ts';
import { query } from '../warehouse/query.ts';
import { joinSpans } from './explain-register.ts';
import { instant, plainDuration, plainNumber } from './explain-words.ts';
import { type Day, EXPLAINED_ROWS_MAX, type Span } from './explained-day.ts';
import type { Event, Part, Sum } from './explained-schema.ts';

type PartRow = {
  from_ms: number;
  to_ms: number;
  from_w: number;
  to_w: number;
  covered: boolean;
  energy_wh: number;
  milliseconds: number;
  parts: number;
  sum_nwh: string;
  sum_wh: number;
};

/** The energy of power or interval readings on the day, from the tables of `traceEnergy`. */
interface PowerTrace {
  parts: readonly PartRow[];
  covered: readonly Span[];
  /** Their number and their sum. */
  count: number;
  sumNwh: string;
  sumWh: number;
}

export async function readPower(
  connection: DuckDBConnection,
  seriesId: number,
  { startMs, endMs }: Day,
): Promise<PowerTrace> {
  const key = { series_id: seriesId, start_ms: BigInt(startMs), end_ms: BigInt(endMs) };
  const parts = await query<PartRow>(connection, 'explain/find_parts', {
    ...key,
    rows_max: EXPLAINED_ROWS_MAX,
  });
  const covered = await query<{ from_ms: number; to_ms: number }>(connection, 'explain/find_covered', key);
  const [first] = parts;
  return {
    parts,
    covered: covered.map(({ from_ms, to_ms }) => ({ fromMs: from_ms, toMs: to_ms })),
    count: first?.parts ?? 0,
    sumNwh: first?.sum_nwh ?? '0',
    sumWh: first?.sum_wh ?? 0,
  };
}

export function partsOf({ parts }: PowerTrace): Part[] {
  return parts.map((row) => ({
    from: instant(row.from_ms),
    to: instant(row.to_ms),
    milliseconds: row.milliseconds,
    fromW: row.from_w,
    toW: row.to_w,
    covered: row.covered,
    energyWh: row.energy_wh,
  }));
}

/** The gaps over which power was not integrated. */
export function gapsOf({ parts }: PowerTrace, { clock }: Day): Event[] {
  const spans: Span[] = parts
    .filter(({ covered }) => !covered)
    .map(({ from_ms, to_ms }) => ({ fromMs: from_ms, toMs: to_ms }));
  return joinSpans(spans).map(({ fromMs, toMs }) => ({
    kind: 'gap',
    from: instant(fromMs),
    to: instant(toMs),
    valueBefore: null,
    valueAfter: null,
    energyWh: 0,
    text: `silent for longer than is filled in: nothing is taken from ${clock(fromMs)} to ${clock(toMs)} (${plainDuration(toMs - fromMs)})`,
  }));
}

export function powerSum({ count, sumNwh, sumWh }: PowerTrace): Omit<Sum, 'agrees'> {
  const exactWh = wattHours(sumNwh);
  return {
    energyWh: sumWh,
    exactWh,
    text: `${formatCountOf(count, 'part')}, together ${groupDigits(exactWh)} Wh${exactWh === String(sumWh) ? '' : `, rounded ${plainNumber(sumWh)} Wh`}`,
  };
}

/** With thousands separators and all decimals. */
function groupDigits(exact: string): string {
  return exact.replace(/^-?\d+/, (digits) => digits.replace(/\B(?=(?:\d{3})+$)/g, ','));
}

/** Converts billionths of a Wh to Wh, exactly. */
export function wattHours(nwh: string): string {
  const sign = nwh.startsWith('-') ? '-' : '';
  const digits = nwh.replace('-', '').padStart(10, '0');
  const decimals = digits.slice(-9).replace(/0+$/, '');
  return sign + digits.slice(0, -9) + (decimals && `.${decimals}`);
}
