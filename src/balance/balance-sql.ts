import { loadSql } from '../warehouse/load-sql.ts';

/** The resolutions of a balance. */
export const balanceResolutions = ['interval', 'day', 'month', 'year'] as const;
export type BalanceResolution = (typeof balanceResolutions)[number];

/** The statements of the tables that the chapters of sql/balance read. */
export interface BalanceInputs {
  own_day: string;
  zone_day: string;
  scope: string;
  scope_member: string;
  scope_absent: string;
  role_span: string;
  device_peak: string;
  /** The tables that lead to `source_interval`, and itself, by name. */
  sources: ReadonlyArray<readonly [name: string, sql: string]>;
  /** Replaces the constants of the rules. */
  rule?: string;
}

/** The number of characters of a day that name its period. */
export const periodDigits = { day: 10, month: 7, year: 4 } as const;

/**
 * The balance of scopes as table "balance" (see balance/judge), for the statement after it.
 * @returns text that begins with WITH
 */
export function balanceSql(inputs: BalanceInputs, resolution: BalanceResolution): string {
  const tables: Table[] = [
    ...scopeChapters(inputs),
    ['scope_role', loadSql('balance/find_scope_role')],
    ['scope_day', loadSql('balance/find_scope_day')],
    ['scope_peak', loadSql('balance/sum_scope_peak')],
    ...inputs.sources,
    ['source_flow', loadSql('balance/find_source_flow')],
    ['role_flow', loadSql('balance/sum_role_flow')],
    ['flow', loadSql('balance/sum_flow')],
    ['interval_flow', loadSql('balance/find_interval_flow')],
    ['interval_role', loadSql('balance/find_interval_role')],
    ['interval_sum', loadSql('balance/find_interval_sum')],
    ['rest', loadSql('balance/find_rest')],
    ...levelTables(resolution),
    ['balance', loadSql('balance/judge')],
  ];
  return withTables(tables);
}

/** The size of a balance (see balance/count_scope_size). */
export function scopeSizeSql(inputs: BalanceInputs): string {
  return withTables(scopeChapters(inputs)) + loadSql('balance/count_scope_size');
}

type Table = readonly [name: string, sql: string];

/** The tables up to the sources of each scope. */
function scopeChapters(inputs: BalanceInputs): Table[] {
  return [
    ['rule', inputs.rule ?? loadSql('balance/find_rule')],
    ['role', loadSql('balance/find_role')],
    ['own_day', inputs.own_day],
    ['zone_day', inputs.zone_day],
    ['slot', loadSql('balance/find_slot')],
    ['role_span', inputs.role_span],
    ['device_peak', inputs.device_peak],
    ['scope', inputs.scope],
    ['scope_member', inputs.scope_member],
    ['scope_absent', inputs.scope_absent],
    ['scope_source', loadSql('balance/find_scope_source')],
  ];
}

function withTables(tables: readonly Table[]): string {
  return `WITH ${tables.map(([name, sql]) => commonTable(name, sql)).join(',\n')}\n`;
}

function levelTables(resolution: BalanceResolution): Table[] {
  if (resolution === 'interval') return [['level', loadSql('balance/find_interval_level')]];
  return [
    ['day_level', loadSql('balance/sum_days')],
    ['period_digits', `SELECT ${periodDigits[resolution]} AS period_digits`],
    ['level', resolution === 'day' ? 'FROM day_level' : loadSql('balance/sum_periods')],
  ];
}

/** A balance of one scope as rows of `period` and `value`, which is JSON. */
export function balanceAnswerSql(inputs: BalanceInputs, resolution: BalanceResolution): string {
  const parts: Table[] =
    resolution === 'interval'
      ? [['part_list', emptyTable({ scope_id: 'VARCHAR', period: 'VARCHAR', parts: 'VARCHAR[]' })]]
      : [
          ['day_part', loadSql('balance/sum_day_part')],
          ['part_list', loadSql('balance/list_parts')],
        ];
  return `${balanceSql(inputs, resolution).trimEnd()},\n${parts.map(([name, sql]) => commonTable(name, sql)).join(',\n')}\n${loadSql('balance/answer')}`;
}

/** The statements that read the energy of sources from the lake. */
interface LakeTables {
  daily_energy: string;
  interval_energy: string;
  series: string;
}

/** The tables from the tables of the lake up to `source_interval`. */
export function lakeSources(lake: LakeTables): BalanceInputs['sources'] {
  return [
    ...Object.entries(lake),
    ['wanted', 'SELECT DISTINCT device, source, own_day FROM scope_source'],
    ['own_slot', loadSql('balance/find_own_slot')],
    ['read_from', loadSql('balance/find_read_from')],
    ['measured', loadSql('balance/find_measured')],
    ['source_interval', loadSql('balance/find_source_interval')],
  ];
}

export function commonTable(name: string, sql: string): string {
  return `${name} AS (\n${sql}\n)`;
}

/** The statement of a table without rows. */
export function emptyTable(columns: Readonly<Record<string, string>>): string {
  const nulls = Object.entries(columns).map(([name, type]) => `NULL::${type} AS ${name}`);
  return `SELECT ${nulls.join(', ')} WHERE false`;
}
