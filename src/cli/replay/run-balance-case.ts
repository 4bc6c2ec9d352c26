import type { DuckDBConnection } from '@duckdb/node-api';
import { type BalanceScope, scopeTables } from '../../balance/balance-scope.ts';
import { type BalanceInputs, type BalanceResolution, balanceAnswerSql } from '../../balance/balance-sql.ts';
import type { WorkgroupConfig } from '../../config/config.ts';
import { InputError } from '../../lib/errors.ts';
import { type DayBounds, dayBounds, formatInstant, type LocalDate, localDateOf } from '../../lib/time.ts';
import { createRoleResolver, type RoleSpan } from '../../roles/resolve-roles.ts';
import { peakColumns, peakRows, roleSpanColumns, roleSpanRows } from '../../roles/role-rows.ts';
import { jsonRowsSql } from '../../warehouse/json-rows.ts';
import { loadSql } from '../../warehouse/load-sql.ts';
import { queryText, type SqlParameters } from '../../warehouse/query.ts';
import type { BalanceCase } from './balance-case.ts';
import { readDevices } from './balance-case-devices.ts';
import { intervalsOf } from './balance-case-intervals.ts';

type BalanceAnswer = Record<string, unknown>;

/** The balances of a time zone, by its days and months. */
interface BalanceOfZone {
  day: Record<LocalDate, BalanceAnswer>;
  month: Record<string, BalanceAnswer>;
}

/** The result of a case: balances by period, and the energy of devices by day, Wh. */
export type BalanceResult =
  | {
      intervals: Record<string, BalanceAnswer>;
      day: Record<LocalDate, BalanceAnswer>;
      month: Record<string, BalanceAnswer>;
      zones: Record<string, BalanceOfZone>;
      dailyEnergy: Record<LocalDate, Record<string, { energyWh: number | null; flags: string[] }>>;
      /** The remaining energy of sources that contain others, by day. */
      restWh: Record<LocalDate, Record<string, number | null>>;
    }
  | { error: string };

/** The parts of a result that need a separate statement. The days are always computed. */
export const balanceParts = ['month', 'zones', 'intervals', 'dailyEnergy'] as const;
type BalancePart = (typeof balanceParts)[number];

/** Computes a case with the statements of the report. Parts that are not wanted are empty. */
export async function runBalanceCase(
  connection: DuckDBConnection,
  balanceCase: BalanceCase,
  wanted: readonly BalancePart[] = balanceParts,
): Promise<BalanceResult> {
  if (balanceCase.workgroup instanceof InputError)
    return {
      error: balanceCase.workgroup.problems.map(({ path, message }) => `${path}: ${message}`).join('\n'),
    };
  const { workgroup } = balanceCase;
  const own = dayBounds(balanceCase.startDay, balanceCase.endDay, balanceCase.timezone);
  const read = (resolution: BalanceResolution, days: readonly DayBounds[]) =>
    readBalance(connection, balanceCase, workgroup, { own, days, resolution });
  const day = await read('day', own);
  const hasZones = wanted.includes('zones');
  const month = hasZones || wanted.includes('month') ? await read('month', own) : {};
  const zones: Record<string, BalanceOfZone> = {};
  for (const zone of hasZones ? balanceCase.zones : []) {
    const days = daysOfZone(own, zone);
    zones[zone] =
      zone === balanceCase.timezone
        ? { day, month }
        : { day: await read('day', days), month: await read('month', days) };
  }
  return {
    intervals: wanted.includes('intervals') ? worthShowing(balanceCase, await read('interval', own)) : {},
    day,
    month,
    zones,
    dailyEnergy: wanted.includes('dailyEnergy')
      ? await readDevices(connection, balanceCase, workgroup, own)
      : {},
    restWh: Object.fromEntries(
      Object.entries(day).map(([date, { restWh }]) => [date, restWh as Record<string, number | null>]),
    ),
  };
}

/** The days of a zone, cut to the range, so all zones have the same energy. */
function daysOfZone(own: readonly DayBounds[], zone: string): DayBounds[] {
  const startMs = own[0]!.startMs;
  const endMs = own.at(-1)!.endMs;
  return dayBounds(localDateOf(startMs, zone), localDateOf(endMs - 1, zone), zone).map((day) => ({
    ...day,
    startMs: Math.max(day.startMs, startMs),
    endMs: Math.min(day.endMs, endMs),
  }));
}

async function readBalance(
  connection: DuckDBConnection,
  balanceCase: BalanceCase,
  workgroup: WorkgroupConfig,
  {
    own,
    days,
    resolution,
  }: { own: readonly DayBounds[]; days: readonly DayBounds[]; resolution: BalanceResolution },
): Promise<Record<string, BalanceAnswer>> {
  const scope: BalanceScope = {
    id: balanceCase.name,
    isSite: true,
    allowsNetting: true,
    members: balanceCase.sources.map(({ device, source, sign, from, to }) => ({
      device,
      source,
      sign,
      from,
      to,
    })),
    absent: balanceCase.absent,
  };
  const scopes = scopeTables([scope]);
  const inputs: BalanceInputs = {
    own_day: jsonRowsSql('own_days', dayColumns),
    zone_day: jsonRowsSql('zone_days', dayColumns),
    ...scopes.tables,
    role_span: jsonRowsSql('role_spans', roleSpanColumns),
    device_peak: jsonRowsSql('peaks', peakColumns),
    sources: [['source_interval', jsonRowsSql('source_intervals', intervalColumns)]],
    rule: `SELECT * REPLACE ($tolerance_wh::DOUBLE AS tolerance_wh, $tolerance_percent::DOUBLE AS tolerance_percent, ${END_OF_TIME_MS} AS now_ms) FROM (\n${loadSql('balance/find_rule')}\n)`,
  };
  // The shape of a day is unknown, so its intervals are unknown.
  const rows = own.flatMap((bounds) =>
    balanceCase.sources.flatMap((source) => intervalsOf(source, bounds, resolution)),
  );
  const answerRows = await queryText<{ period: string; value: { bytes: Uint8Array } }>(
    connection,
    balanceAnswerSql(inputs, resolution),
    {
      ...scopes.parameters,
      own_days: dayRows(own),
      zone_days: dayRows(days),
      role_spans: roleSpanRows(spansOf(workgroup, balanceCase)),
      peaks: peakRows(balanceCase.devices),
      source_intervals: JSON.stringify(rows),
      tolerance_wh: balanceCase.toleranceWh,
      tolerance_percent: balanceCase.tolerancePercent,
    } as unknown as SqlParameters,
  );
  return Object.fromEntries(
    answerRows.map(({ period, value }) => [
      period,
      withDeviceNames(JSON.parse(Buffer.from(value.bytes).toString()), balanceCase),
    ]),
  );
}

/** Later than every time of a case. */
const END_OF_TIME_MS = '9223372036854775807';
const dayColumns = { day: 'DATE', start_ms: 'BIGINT', end_ms: 'BIGINT' };
const intervalColumns = {
  device: 'UUID',
  source: 'VARCHAR',
  own_day: 'DATE',
  at_ms: 'BIGINT',
  energy_wh: 'BIGINT',
  is_known: 'BOOLEAN',
  has_shape: 'BOOLEAN',
  is_estimated: 'BOOLEAN',
  step_wh: 'DOUBLE',
};

function dayRows(days: readonly DayBounds[]): string {
  return JSON.stringify(days.map(({ day, startMs, endMs }) => ({ day, start_ms: startMs, end_ms: endMs })));
}

function spansOf(workgroup: WorkgroupConfig, balanceCase: BalanceCase): RoleSpan[] {
  return createRoleResolver(workgroup).spans(
    balanceCase.sources.map(({ device, source }) => ({ device, source })),
  );
}

/** Intervals that are not zero, and the intervals that are asked for. */
function worthShowing(
  { askedMs }: BalanceCase,
  intervals: Record<string, BalanceAnswer>,
): Record<string, BalanceAnswer> {
  const wantedStarts = new Set(askedMs.map((ms) => formatInstant(ms).replace('.000Z', 'Z')));
  return Object.fromEntries(
    Object.entries(intervals).filter(
      ([start, answer]) => wantedStarts.has(start) || flows.some((field) => answer[field] !== 0),
    ),
  );
}

const flows = [
  ...[
    'productionWh',
    'consumptionWh',
    'gridImportWh',
    'gridExportWh',
    'batteryChargeWh',
    'batteryDischargeWh',
  ],
  'residualWh',
];

/** Replaces ids of devices by their names. */
function withDeviceNames(answer: BalanceAnswer, { deviceNames }: BalanceCase): BalanceAnswer {
  const nameOf = (key: string) => {
    const dot = key.indexOf('.');
    const name = deviceNames.get(key.slice(0, dot));
    return name === undefined ? key : name + key.slice(dot);
  };
  const rest = answer.restWh as Record<string, number | null>;
  const parts = answer.parts as Array<{ device: string; within: string | null }>;
  return {
    ...answer,
    restWh: Object.fromEntries(Object.entries(rest).map(([key, wh]) => [nameOf(key), wh])),
    parts: parts.map((part) => ({
      ...part,
      device: deviceNames.get(part.device) ?? part.device,
      within: part.within && nameOf(part.within),
    })),
  };
}
