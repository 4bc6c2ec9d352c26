import type { DuckDBConnection } from '@duckdb/node-api';
import { deviceDaySql } from '../balance/device-day.ts';
import { type BalanceScope, scopeTables } from '../balance/scope.ts';
import {
  type BalanceInputs,
  type BalanceResolution,
  balanceAnswerSql,
  chapter,
} from '../balance/statement.ts';
import type { WorkgroupConfig } from '../config.ts';
import { InputError } from '../errors.ts';
import { createRoleResolver, type RoleSpan } from '../roles/resolve.ts';
import { peakColumns, peakRows, roleSpanColumns, roleSpanRows } from '../roles/rows.ts';
import {
  type DayBounds,
  dayBounds,
  formatInstant,
  INTERVAL_MS,
  type LocalDate,
  localDateOf,
} from '../time.ts';
import { jsonRowsSql } from '../warehouse/json-rows.ts';
import { queryText, type SqlParameters } from '../warehouse/query.ts';
import { type BalanceCase, type CaseSource, caseDays, isThere } from './replay-balance-case.ts';

type Told = Record<string, unknown>;

/** What a case comes to: balances by their period, and the energy of devices by day. Energy in Wh. */
export type BalanceResult =
  | {
      intervals: Record<string, Told>;
      day: Record<LocalDate, Told>;
      month: Record<string, Told>;
      zones: Record<string, { day: Record<LocalDate, Told>; month: Record<string, Told> }>;
      dailyEnergy: Record<LocalDate, Record<string, { energyWh: number | null; flags: string[] }>>;
      /** What is left of sources that contain others, by day. */
      restWh: Record<LocalDate, Record<string, number | null>>;
    }
  | { error: string };

/** Computes a case with the statements that the report is computed with. */
export async function runBalanceCase(connection: DuckDBConnection, one: BalanceCase): Promise<BalanceResult> {
  if (one.workgroup instanceof InputError) return { error: one.workgroup.message };
  const own = dayBounds(one.startDay, one.endDay, one.timezone);
  const read = (resolution: BalanceResolution, days: readonly DayBounds[]) =>
    readBalance(connection, one, one.workgroup as WorkgroupConfig, { own, days, resolution });
  const zones: Record<string, { day: Record<string, Told>; month: Record<string, Told> }> = {};
  for (const zone of one.zones) {
    const days = daysOfZone(own, zone);
    zones[zone] = { day: await read('day', days), month: await read('month', days) };
  }
  const day = await read('day', own);
  return {
    intervals: worthTelling(one, await read('interval', own)),
    day,
    month: await read('month', own),
    zones,
    dailyEnergy: await readDevices(connection, one, one.workgroup, own),
    restWh: Object.fromEntries(
      Object.entries(day).map(([date, { restWh }]) => [date, restWh as Record<string, number | null>]),
    ),
  };
}

/** The days of a zone as far as they lie in the range, so that every zone tells the same energy. */
function daysOfZone(own: readonly DayBounds[], zone: string): DayBounds[] {
  const startMs = own[0]!.startMs;
  const endMs = own.at(-1)!.endMs;
  return dayBounds(localDateOf(startMs, zone), localDateOf(endMs - 1, zone), zone).map((one) => ({
    ...one,
    startMs: Math.max(one.startMs, startMs),
    endMs: Math.min(one.endMs, endMs),
  }));
}

async function readBalance(
  connection: DuckDBConnection,
  one: BalanceCase,
  workgroup: WorkgroupConfig,
  {
    own,
    days,
    resolution,
  }: { own: readonly DayBounds[]; days: readonly DayBounds[]; resolution: BalanceResolution },
): Promise<Record<string, Told>> {
  const scope: BalanceScope = {
    id: one.name,
    isSite: true,
    nets: true,
    members: one.sources.map(({ device, source, sign, from, to }) => ({ device, source, sign, from, to })),
    absent: one.absent,
  };
  const scopes = scopeTables([scope]);
  const inputs: BalanceInputs = {
    own_day: jsonRowsSql('own_days', dayColumns),
    zone_day: jsonRowsSql('zone_days', dayColumns),
    ...scopes.tables,
    role_span: jsonRowsSql('role_spans', roleSpanColumns),
    device_peak: jsonRowsSql('peaks', peakColumns),
    sources: [['source_interval', jsonRowsSql('source_intervals', intervalColumns)]],
    rule: `SELECT * REPLACE ($tolerance_wh::DOUBLE AS tolerance_wh, $tolerance_percent::DOUBLE AS tolerance_percent, ${END_OF_TIME_MS} AS now_ms) FROM (\n${chapter('00_rule')}\n)`,
  };
  // Nothing is known of the shape of a day's energy, so of its intervals nothing is known at all.
  const rows = own.flatMap((bounds) =>
    one.sources.flatMap((source) => intervalsOf(source, bounds, resolution)),
  );
  const found = await queryText<{ period: string; value: { bytes: Uint8Array } }>(
    connection,
    balanceAnswerSql(inputs, resolution),
    {
      ...scopes.parameters,
      own_days: dayRows(own),
      zone_days: dayRows(days),
      role_spans: roleSpanRows(spansOf(workgroup, one)),
      peaks: peakRows(one.devices),
      source_intervals: JSON.stringify(rows),
      tolerance_wh: one.toleranceWh,
      tolerance_percent: one.tolerancePercent,
    } as unknown as SqlParameters,
  );
  return Object.fromEntries(
    found.map(({ period, value }) => [period, named(JSON.parse(Buffer.from(value.bytes).toString()), one)]),
  );
}

/** After everything that a case can tell. */
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

function spansOf(workgroup: WorkgroupConfig, one: BalanceCase): RoleSpan[] {
  return createRoleResolver(workgroup).spans(one.sources.map(({ device, source }) => ({ device, source })));
}

function intervalsOf(source: CaseSource, { day, startMs, endMs }: DayBounds, resolution: BalanceResolution) {
  if (!isThere(source, day)) return [];
  const count = (endMs - startMs) / INTERVAL_MS;
  // Nothing at all is nothing at any time.
  const dayWh = source.dailyWh.get(day);
  return Array.from({ length: count }, (_, index) => {
    const atMs = startMs + index * INTERVAL_MS;
    const hasShape = !dayWh;
    const wh = valueAt(source, atMs, { dayWh, index, count });
    const isKnown = wh !== null && (hasShape || resolution !== 'interval');
    return {
      device: source.device,
      source: source.source,
      own_day: day,
      at_ms: atMs,
      energy_wh: isKnown ? wh : null,
      is_known: isKnown,
      has_shape: hasShape,
      is_estimated: false,
      step_wh: 0,
    };
  });
}

/** Wh of an interval; of a day's energy its even share, so that the shares add up to the day. */
function valueAt(
  { silent, wh, unlistedWh }: CaseSource,
  atMs: number,
  { dayWh, index, count }: { dayWh: number | null | undefined; index: number; count: number },
): number | null {
  if (silent || dayWh === null) return null;
  if (dayWh !== undefined)
    return Math.round((dayWh * (index + 1)) / count) - Math.round((dayWh * index) / count);
  const listed = wh.get(atMs);
  return listed === undefined ? unlistedWh : listed;
}

/** Intervals in which something flowed, or is not known, and those that are asked for. */
function worthTelling({ askedMs }: BalanceCase, intervals: Record<string, Told>): Record<string, Told> {
  const asked = new Set(askedMs.map((ms) => formatInstant(ms).replace('.000Z', 'Z')));
  return Object.fromEntries(
    Object.entries(intervals).filter(
      ([start, told]) => asked.has(start) || flows.some((field) => told[field] !== 0),
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

/** Devices by their names, as the case has them. */
function named(told: Told, { deviceNames }: BalanceCase): Told {
  const nameOf = (key: string) => {
    const dot = key.indexOf('.');
    const name = deviceNames.get(key.slice(0, dot));
    return name === undefined ? key : name + key.slice(dot);
  };
  const rest = told.restWh as Record<string, number | null>;
  const parts = told.parts as Array<{ device: string; within: string | null }>;
  return {
    ...told,
    restWh: Object.fromEntries(Object.entries(rest).map(([key, wh]) => [nameOf(key), wh])),
    parts: parts.map((part) => ({
      ...part,
      device: deviceNames.get(part.device) ?? part.device,
      within: part.within && nameOf(part.within),
    })),
  };
}

/** What the daily-energy report would tell of the case's devices. */
async function readDevices(
  connection: DuckDBConnection,
  one: BalanceCase,
  workgroup: WorkgroupConfig,
  own: readonly DayBounds[],
) {
  const days = own.flatMap((bounds) => one.sources.flatMap((source) => sourceDay(source, bounds)));
  const rows = await queryText<{ day: string; device: string; energy_wh: number | null; flags: string }>(
    connection,
    `${deviceDaySql({
      known_source: jsonRowsSql('known_sources', { device: 'UUID', source: 'VARCHAR' }),
      declared_device: jsonRowsSql('declared_devices', declaredColumns),
      role_span: jsonRowsSql('role_spans', roleSpanColumns),
      source_day: jsonRowsSql('source_days', sourceDayColumns),
    })}SELECT day::VARCHAR AS day, device::VARCHAR AS device, energy_wh::DOUBLE AS energy_wh, to_json(flags)::VARCHAR AS flags
     FROM device_day ORDER BY day, device`,
    {
      known_sources: JSON.stringify(one.sources.map(({ device, source }) => ({ device, source }))),
      declared_devices: JSON.stringify([
        { total_source: workgroup.totalSource },
        ...workgroup.devices.map(({ id, totalSource, sources, energyRole }) => ({
          device: id,
          total_source: totalSource,
          sources,
          energy_role: energyRole,
        })),
      ]),
      role_spans: roleSpanRows(spansOf(workgroup, one)),
      source_days: JSON.stringify(days),
    },
  );
  const told = Map.groupBy(rows, ({ day }) => day);
  return Object.fromEntries(
    caseDays(one).map((day) => [
      day,
      Object.fromEntries(
        (told.get(day) ?? []).map(({ device, energy_wh, flags }) => [
          one.deviceNames.get(device)!,
          { energyWh: energy_wh, flags: JSON.parse(flags) as string[] },
        ]),
      ),
    ]),
  );
}

const declaredColumns = {
  device: 'UUID',
  total_source: 'VARCHAR',
  sources: ['VARCHAR'],
  energy_role: 'VARCHAR',
} as const;
const sourceDayColumns = {
  day: 'DATE',
  told_day: 'DATE',
  device: 'UUID',
  source: 'VARCHAR',
  energy_wh: 'BIGINT',
  rise_wh: 'BIGINT',
  fall_wh: 'BIGINT',
  methods: ['VARCHAR'],
  flags: ['VARCHAR'],
  coverage: 'DOUBLE',
  status: 'VARCHAR',
  version: 'INTEGER',
  computed_at: 'TIMESTAMPTZ',
} as const;

/** A day of a source as the roll-up would have it: the energy that is known; none where nothing is. */
function sourceDay(source: CaseSource, bounds: DayBounds) {
  const { day } = bounds;
  const intervals = intervalsOf(source, bounds, 'day');
  const known = intervals.flatMap(({ energy_wh }) => energy_wh ?? []);
  if (known.length === 0) return [];
  const hasShape = intervals.every(({ has_shape }) => has_shape);
  const sum = (of: (wh: number) => number) => known.reduce((total, wh) => total + of(wh), 0);
  return [
    {
      day,
      told_day: day,
      device: source.device,
      source: source.source,
      energy_wh: sum((wh) => wh),
      rise_wh: hasShape ? sum((wh) => Math.max(wh, 0)) : null,
      fall_wh: hasShape ? sum((wh) => Math.max(-wh, 0)) : null,
      methods: [],
      flags: [],
      coverage: known.length / intervals.length,
      status: 'final',
      version: 1,
    },
  ];
}
