import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkgroupConfig } from '../../src/config/config.ts';
import type { EnergyStreamInput } from '../../src/config/energy-stream.ts';
import { declareDevices } from '../../src/warehouse/declared-devices.ts';
import { loadSql } from '../../src/warehouse/load-sql.ts';
import { queryText } from '../../src/warehouse/query.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { rowsOf } from '../warehouse/warehouse-fixture.ts';
import { type CaseReading, DEVICE, type EnergySite } from './rollup-fixture.ts';

/** The expected values of one day of one source. A case may leave some out. */
interface ExpectedRow {
  day: string;
  source?: string;
  wh?: number;
  flags?: string[];
  coverage?: number;
  method?: string;
}

/**
 * The expected values of one day of a device: of its total source if it has one, otherwise of its sources
 * together.
 */
interface ExpectedDeviceDay {
  day: string;
  /** Default: the usual device. */
  device?: string;
  /** Null if only sources that do not count have energy. */
  wh: number | null;
  methods?: string[];
  flags?: string[];
  /** The least of its sources. */
  coverage?: number;
}

/**
 * A case of test/golden: readings, the Wh of every day of all sources together, and further expected results.
 */
export interface GoldenCase {
  id: string;
  /** The arithmetic. */
  why?: string;
  /** The same, in the cases that came with the specification. */
  note?: string;
  timezone: string;
  energyStreams: EnergyStreamInput[];
  /** What is declared of devices. */
  devices?: WorkgroupConfig['devices'];
  readings: Array<CaseReading & { table?: string }>;
  expected: Record<string, number>;
  /** Of the days of source "default". */
  days?: Record<string, Omit<ExpectedRow, 'day' | 'source'>>;
  rows?: ExpectedRow[];
  /** All days of the case's devices, as the report tells them. */
  deviceDays?: ExpectedDeviceDay[];
  /** All events of the registers: the kind of each, and the Wh booked for it, sorted. */
  events?: Array<[kind: string, energyWh: number]>;
  /** How many readings were rejected, by reason. */
  rejected?: Record<string, number>;
  /** Wh of intervals, by their start. */
  intervals?: Record<string, number>;
  /** Starts of all intervals with the flag estimated, in order. */
  estimatedIntervals?: string[];
}

/** The members that a case may have. */
const caseKeys: Readonly<Record<keyof GoldenCase, true>> = {
  id: true,
  why: true,
  note: true,
  timezone: true,
  energyStreams: true,
  devices: true,
  readings: true,
  expected: true,
  days: true,
  rows: true,
  deviceDays: true,
  events: true,
  rejected: true,
  intervals: true,
  estimatedIntervals: true,
};

const folder = join(import.meta.dirname, '..', 'golden');

/** Every case of every file. */
export function goldenCases(): GoldenCase[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
  return files.flatMap((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')));
}

/**
 * The keys of cases that no test reads, so that their values would not be checked, with the keys that a case
 * may have.
 */
export function unknownKeys(cases: readonly object[]): string[] {
  const known = Object.keys(caseKeys).join(', ');
  return cases.flatMap((golden) =>
    Object.keys(golden)
      .filter((key) => !(key in caseKeys))
      .map((key) => `${'id' in golden ? golden.id : '?'}: ${key} is not known; a case may have ${known}`),
  );
}

const numbers = new Map(goldenCases().map(({ id }, index) => [id, index]));
const ids = [...numbers.keys()];

/** A device of a case among all cases: its last digits, after the case's number. */
function deviceOf(id: string, device: string): string {
  return `${device.slice(0, 24)}${String(numbers.get(id)).padStart(8, '0')}${device.slice(-4)}`;
}

/** The case that a device belongs to. */
export function caseOf(device: unknown): string {
  return ids[Number(String(device).slice(24, 32))]!;
}

const rules = new Map<string, number>();

/**
 * The name of a table of a case. Cases with the same energy streams share tables, because binding a stream
 * costs more than the readings of a case. Declared changes of a register name a device, so cases with them
 * have separate tables.
 */
function tableOf({ id, energyStreams }: GoldenCase, table: string): string {
  const isOwn = energyStreams.some(({ registerChanges = [] }) => registerChanges.length > 0);
  const key = isOwn ? id : JSON.stringify(energyStreams);
  const number = rules.get(key) ?? rules.size;
  rules.set(key, number);
  return `${number}.${table}`;
}

/** The readings of a case with its own devices. Their order gives the offsets. */
export function ownReadings(golden: GoldenCase): CaseReading[] {
  const { id, readings } = golden;
  return readings.map((reading, index) => ({
    ...reading,
    table: tableOf(golden, reading.table ?? 't'),
    device: deviceOf(id, reading.device ?? DEVICE),
    offset: BigInt(numbers.get(id)! * 1_000 + index),
  }));
}

/** The part of a list for one round. After the last round each item was in one part. */
export function pieceOf<Item>(list: readonly Item[], round: number, rounds: number): Item[] {
  return list.slice(
    Math.floor((round * list.length) / rounds),
    Math.floor(((round + 1) * list.length) / rounds),
  );
}

/** One site with the streams of all the cases. */
export function siteOf(cases: readonly GoldenCase[]): EnergySite {
  const withTables = [...Map.groupBy(cases, (golden) => tableOf(golden, '')).values()].map(
    ([golden]) => golden!,
  );
  const streams = withTables.flatMap((golden) =>
    golden.energyStreams.map(({ registerChanges, ...stream }) => ({
      ...stream,
      table: tableOf(golden, stream.table),
      registerChanges: registerChanges?.map((epoch) => ({
        ...epoch,
        device: deviceOf(golden.id, epoch.device),
      })),
    })),
  );
  const devices = cases.flatMap(({ id, devices = [] }) =>
    devices.map((device) => ({ ...device, id: deviceOf(id, device.id) })),
  );
  return { timezone: cases[0]!.timezone, streams, devices };
}

/** The rows that a case names. */
export function expectedRows({ days = {}, rows = [] }: GoldenCase) {
  const ofDefault = Object.entries(days).map(([day, row]) => ({ day, source: 'default', ...row }));
  return [...ofDefault, ...rows].map(({ flags, ...row }) =>
    flags ? { ...row, flags: flags.toSorted() } : row,
  );
}

/** The days of devices that a case names, as `deviceDaysOf` has them. */
export function expectedDeviceDays({ id, deviceDays = [] }: GoldenCase) {
  return deviceDays.map(({ device = DEVICE, ...row }) => ({ device: deviceOf(id, device), ...row }));
}

/** Days of devices by case, computed by the statements of the lake and of the report. */
export async function deviceDaysOf(shard: Shard, { devices = [] }: EnergySite) {
  const rows = await shard.read(async (connection) => {
    await declareDevices(connection, { devices });
    return queryText(
      connection,
      `WITH chosen AS (
        SELECT *, [method] AS methods, day AS reported_day, NULL::BIGINT AS rise_wh, NULL::BIGINT AS fall_wh
        FROM (${loadSql('publish/select_daily_energy')})
      ),
      source_day AS (${loadSql('balance/find_role_days')}),
      device_day AS (${loadSql('balance/sum_device_day')})
      SELECT device::VARCHAR AS device, day::VARCHAR AS day, energy_wh::DOUBLE AS wh, to_json(methods)::VARCHAR AS methods,
        to_json(flags)::VARCHAR AS flags, coverage
      FROM device_day ORDER BY day, device`,
      { start_day: '1900-01-01', end_day: '2100-01-01' },
    );
  });
  const days = rows.map(({ methods, flags, ...row }) => ({
    ...row,
    methods: JSON.parse(String(methods)) as string[],
    // The cases declare no roles.
    flags: (JSON.parse(String(flags)) as string[]).filter((flag) => flag !== 'undeclared'),
  }));
  return Map.groupBy(days, (row) => caseOf((row as { device?: unknown }).device));
}

/** The rolled-up days by case, with the names of the flags. */
export async function daysOf(shard: Shard) {
  const rows = await rowsOf(
    shard,
    `SELECT device::VARCHAR AS device, source, day::VARCHAR AS day, energy_wh::DOUBLE AS wh, method, coverage, status, version,
       (SELECT coalesce(string_agg(flag, ',' ORDER BY flag), '') FROM quality_flag WHERE d.flags & bit > 0) AS flag_names
     FROM daily_energy d ORDER BY day, device, source`,
  );
  const named = rows.map(({ flag_names, ...row }) => ({
    ...row,
    device: row.device,
    source: row.source,
    wh: row.wh as number,
    day: row.day as string,
    flags: String(flag_names).split(',').filter(Boolean),
  }));
  return Map.groupBy(named, ({ device }) => caseOf(device));
}

export function sumByDay(rows: ReadonlyArray<{ day: string; wh: number }>): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { day, wh } of rows) sums[day] = (sums[day] ?? 0) + wh;
  return sums;
}

/** Events by case, as a case writes them. */
export async function eventsOf(shard: Shard) {
  const rows = await rowsOf(
    shard,
    'SELECT s.device::VARCHAR AS device, kind, round(energy_wh, 3) AS wh FROM energy_event JOIN series s USING (series_id) ORDER BY kind, wh',
  );
  const byCase = Map.groupBy(rows, ({ device }) => caseOf(device));
  return new Map([...byCase].map(([id, events]) => [id, events.map(({ kind, wh }) => [kind, wh])]));
}

/** How many readings were rejected, by case and reason. */
export async function rejectedOf(shard: Shard) {
  const rows = await rowsOf(
    shard,
    'SELECT device::VARCHAR AS device, reason, sum(readings)::INTEGER AS readings FROM rejected_reading GROUP BY ALL',
  );
  const byCase = Map.groupBy(rows, ({ device }) => caseOf(device));
  return new Map(
    [...byCase].map(([id, reasons]) => [
      id,
      Object.fromEntries(reasons.map((one) => [one.reason, one.readings])),
    ]),
  );
}

/** Wh of every interval by case and start. */
export async function intervalsOf(shard: Shard) {
  const rows = await rowsOf(
    shard,
    `SELECT s.device::VARCHAR AS device, interval_start_ms::DOUBLE AS start_ms, sum(energy_wh)::DOUBLE AS wh
     FROM interval_energy JOIN series s USING (series_id) GROUP BY ALL`,
  );
  return new Map(rows.map(({ device, start_ms, wh }) => [`${caseOf(device)} ${startText(start_ms)}`, wh]));
}

/** The starts of the estimated intervals by case, in order. */
export async function estimatedIntervalsOf(shard: Shard) {
  const rows = await rowsOf(
    shard,
    `SELECT DISTINCT s.device::VARCHAR AS device, interval_start_ms::DOUBLE AS start_ms
     FROM interval_energy JOIN series s USING (series_id)
     WHERE flags & (SELECT bit FROM quality_flag WHERE flag = 'estimated') > 0 ORDER BY start_ms`,
  );
  const byCase = Map.groupBy(rows, ({ device }) => caseOf(device));
  return new Map([...byCase].map(([id, starts]) => [id, starts.map(({ start_ms }) => startText(start_ms))]));
}

const startText = (startMs: unknown) => new Date(startMs as number).toISOString().replace('.000', '');
