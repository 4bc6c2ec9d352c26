import type { DuckDBConnection } from '@duckdb/node-api';
import { query } from '../warehouse/query.ts';
import { instant, plainNumber } from './explain-words.ts';
import type { Day } from './explained-day.ts';
import type { ExplainedCorrection } from './explained-schema.ts';

type Row = {
  correction_id: number;
  kind: ExplainedCorrection['kind'];
  from_ms: number;
  to_ms: number;
  table_name: string | null;
  field: string | null;
  day: string | null;
  energy_wh: number | null;
  undoes: number | null;
  undone_by: number | null;
  reason: string;
  author: string;
  created_at_ms: number;
  has_changed: boolean;
  before_wh: number | null;
  after_wh: number | null;
};

/** The corrections of a day, and the effect of each. */
export async function readCorrections(
  connection: DuckDBConnection,
  key: { device: string; source: string },
  { day, startMs, endMs, clock }: Day,
): Promise<ExplainedCorrection[]> {
  const rows = await query<Row>(connection, 'explain/find_corrections', {
    ...key,
    day,
    start_ms: BigInt(startMs),
    end_ms: BigInt(endMs),
  });
  return rows.map((row) => ({
    id: row.correction_id,
    kind: row.kind,
    from: instant(row.from_ms),
    to: instant(row.to_ms),
    energyWh: row.energy_wh,
    undoes: row.undoes,
    undoneBy: row.undone_by,
    reason: row.reason,
    author: row.author,
    at: instant(row.created_at_ms),
    beforeWh: row.before_wh,
    afterWh: row.after_wh,
    text: correctionText(row, clock),
  }));
}

/** A correction and its effect as a sentence. */
export function correctionText(row: Row, clock: Day['clock']): string {
  const state = row.undone_by === null ? '' : ` (undone by ${row.undone_by})`;
  return `${what(row, clock)}${effect(row)}${state}`;
}

function what(
  { kind, from_ms, to_ms, table_name, field, day, energy_wh, undoes }: Row,
  clock: Day['clock'],
): string {
  const when = `from ${clock(from_ms)} to ${clock(to_ms)}`;
  const energy = energy_wh === null ? '' : `${plainNumber(energy_wh)} Wh`;
  switch (kind) {
    case 'exclude': {
      const of = [table_name, field].filter((name) => name !== null).join('.');
      return `readings ${of && `of ${of} `}${when} are excluded`;
    }
    case 'set':
      return `${energy} are set ${when}`;
    case 'set_day':
      return `${energy} are set for ${day}`;
    case 'fill':
      return `${energy} are estimated ${when}`;
    case 'undo':
      return `correction ${undoes} is undone`;
    default:
      return kind satisfies never;
  }
}

/** The energy of the day without and with the correction, when it was made. */
function effect({ kind, has_changed, before_wh, after_wh }: Row): string {
  if (!has_changed) return '; the day did not change';
  const energyText = (value: number | null) => (value === null ? 'no energy' : `${plainNumber(value)} Wh`);
  if (before_wh === after_wh) return `; the day stayed at ${energyText(after_wh)}`;
  if (kind === 'undo')
    return `; the day was ${energyText(before_wh)} before, and ${energyText(after_wh)} after`;
  return `; the day was ${energyText(before_wh)} without it, and ${energyText(after_wh)} with it`;
}
