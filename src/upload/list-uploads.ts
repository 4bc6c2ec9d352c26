import type { DuckDBConnection } from '@duckdb/node-api';
import { query } from '../warehouse/query.ts';
import type { Granularity } from './budget-rows.ts';

/** The current budgets of one meter, scenario and kind of period. Instants are ms since 1970. */
export interface BudgetSummary {
  meter: string;
  scenario: string;
  period: Granularity;
  periods: number;
  firstDay: string;
  lastDay: string;
  energyWh: number;
  revision: number;
  uploadedAtMs: number;
}

/** The current uploaded readings of a meter. */
export interface MeterSummary {
  meter: string;
  fromRegister: boolean;
  readings: number;
  firstMs: number;
  lastMs: number;
  /** Null if no interval has energy. */
  energyWh: number | null;
  /** Intervals in which a register fell. */
  faults: number;
  revision: number;
  uploadedAtMs: number;
}

export interface UploadList {
  budgets: BudgetSummary[];
  meters: MeterSummary[];
}

type Row = Record<string, string | number | boolean | null>;

/** Lists the uploads that count. */
export async function listUploads(connection: DuckDBConnection): Promise<UploadList> {
  await query(connection, 'upload/create_granularity');
  return {
    budgets: (await query<Row>(connection, 'upload/list_budgets')).map((row) => named<BudgetSummary>(row)),
    meters: (await query<Row>(connection, 'upload/list_readings')).map((row) => named<MeterSummary>(row)),
  };
}

function named<Summary>(row: Row): Summary {
  const entries = Object.entries(row).map(([name, value]) => [
    name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    value,
  ]);
  return Object.fromEntries(entries) as Summary;
}
