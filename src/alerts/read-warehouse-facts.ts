import type { DuckDBConnection } from '@duckdb/node-api';
import { addDays, DAY_MS, HOUR_MS, type LocalDate, localDateOf, MINUTE_MS, type UtcMs } from '../lib/time.ts';
import { createRoleResolver, type RoleSettings, type SourceKey } from '../roles/resolve-roles.ts';
import { includesDay } from '../roles/role-dates.ts';
import { query } from '../warehouse/query.ts';
import type { AlertFacts, DayFact } from './alert-facts.ts';

interface WarehouseFactsQuery {
  workgroup: RoleSettings & { timezone: string };
  nowMs: UtcMs;
  closeAfterMs: number;
  /** What `read` returned before. Days are not read again if nothing has changed since. */
  known?: string | undefined;
}

/** The facts of a warehouse. `days` is left out if it is the same as before. */
export interface WarehouseFacts extends Required<Pick<AlertFacts, 'gaps' | 'lastHour'>> {
  devices: Array<{ device: string; lastSeenMs: UtcMs }>;
  /** Changes with the days. */
  daysToken: string;
  days?: Required<Pick<AlertFacts, 'idleDays' | 'thinDays' | 'flaggedDays' | 'restatedDays'>> | undefined;
  hasBudgets: boolean;
}

/** Days are looked at for this long after they end or become final. */
const SIGHT_DAYS = 8;
/** Versions are looked at for this long. */
const RESTATED_MS = 2 * DAY_MS;
const ROWS_MAX = 10_000;
const IDLE_COVERAGE_MIN = 0.5;
/** Of the other devices of this kind: those that produce, or without a role those with the same source. */
const SIBLINGS_SHARE = 0.8;

type DayRow = { day: string; device: string; source: string };

/**
 * Reads the facts that the conditions need, with a bounded number of rows. Cheap while no day has changed.
 */
export async function readWarehouseFacts(
  connection: DuckDBConnection,
  { workgroup, nowMs, closeAfterMs, known }: WarehouseFactsQuery,
): Promise<WarehouseFacts> {
  const today = localDateOf(nowMs, workgroup.timezone);
  const seen = await query<{ device: string; last_seen_ms: number }>(connection, 'alerts/list_last_seen', {
    minute_ms: BigInt(MINUTE_MS),
    rows_max: BigInt(ROWS_MAX),
  });
  const gaps = await query<{ gap_id: number; reason: string; from_ms: number | null; to_ms: number | null }>(
    connection,
    'alerts/list_open_gaps',
    { rows_max: BigInt(ROWS_MAX) },
  );
  const [counts] = await query<{
    messages: number;
    quarantined: number;
    computed_at_ms: number | null;
    restated: number;
    budgets: number;
  }>(connection, 'alerts/count_facts', {
    landed_after_ms: BigInt(nowMs - HOUR_MS),
    since_ms: BigInt(nowMs - RESTATED_MS),
  });
  const { messages, quarantined, computed_at_ms, restated, budgets } = counts!;
  const daysToken = [today, computed_at_ms, restated].join(' ');
  return {
    devices: seen.map(({ device, last_seen_ms }) => ({ device, lastSeenMs: last_seen_ms })),
    gaps: gaps.map(({ gap_id, reason, from_ms, to_ms }) => ({
      gapId: gap_id,
      reason,
      fromMs: from_ms,
      toMs: to_ms,
    })),
    lastHour: { messages, quarantined },
    hasBudgets: budgets > 0,
    daysToken,
    ...(daysToken !== known && {
      days: await readDays(connection, { workgroup, today, nowMs, closeAfterMs }),
    }),
  };
}

async function readDays(
  connection: DuckDBConnection,
  {
    workgroup,
    today,
    nowMs,
    closeAfterMs,
  }: Pick<WarehouseFactsQuery, 'workgroup' | 'nowMs' | 'closeAfterMs'> & { today: LocalDate },
): Promise<NonNullable<WarehouseFacts['days']>> {
  const rows_max = BigInt(ROWS_MAX);
  const closeDays = Math.ceil(closeAfterMs / DAY_MS);
  const yesterday = addDays(today, -1);
  const idle = await query<DayRow & { siblings: number }>(connection, 'alerts/list_idle_days', {
    day: yesterday,
    roles: JSON.stringify(await rolesOn(connection, yesterday, workgroup)),
    coverage_min: IDLE_COVERAGE_MIN,
    share_min: SIBLINGS_SHARE,
    rows_max,
  });
  const thin = await query<DayRow & { coverage: number }>(connection, 'alerts/list_thin_days', {
    since_day: addDays(today, -SIGHT_DAYS - closeDays),
    rows_max,
  });
  const flagged = await query<DayRow & { flag: string }>(connection, 'alerts/list_flagged_days', {
    since_day: addDays(today, -SIGHT_DAYS),
    rows_max,
  });
  const restated = await query<
    DayRow & { version: number; computed_at_ms: number; before_wh: number | null; after_wh: number | null }
  >(connection, 'alerts/list_restated_days', { since_ms: BigInt(nowMs - RESTATED_MS), rows_max });
  const fact = ({ day, device, source }: DayRow, days: number): DayFact => ({
    day,
    device,
    source,
    seenUntilMs: Date.parse(`${addDays(day, days)}T00:00:00Z`),
  });
  return {
    idleDays: idle.map((row) => ({ ...fact(row, 1), siblings: row.siblings })),
    thinDays: thin.map((row) => ({ ...fact(row, SIGHT_DAYS + closeDays), coverage: row.coverage })),
    flaggedDays: flagged.map((row) => ({ ...fact(row, SIGHT_DAYS), flag: row.flag })),
    restatedDays: restated.map((row) => ({
      ...fact(row, 0),
      seenUntilMs: row.computed_at_ms + RESTATED_MS,
      version: row.version,
      beforeWh: row.before_wh,
      afterWh: row.after_wh,
    })),
  };
}

/** The roles of the sources of a day. */
async function rolesOn(
  connection: DuckDBConnection,
  day: LocalDate,
  workgroup: RoleSettings,
): Promise<Array<SourceKey & { role: string }>> {
  if ((workgroup.roles ?? []).length === 0) return [];
  const sources = await query<{ device: string; source: string }>(connection, 'alerts/list_sources', {
    day,
    rows_max: BigInt(ROWS_MAX),
  });
  const { spansOf } = createRoleResolver(workgroup);
  return sources.flatMap(({ device, source }) => {
    const role = spansOf({ device, source }).find((span) => includesDay(span, day))?.role;
    return role === undefined ? [] : [{ device, source, role }];
  });
}
