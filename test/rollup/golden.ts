import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EnergyStreamInput } from '../../src/energy-stream.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { rowsOf } from '../warehouse/support.ts';
import { type CaseReading, DEVICE, type EnergySite } from './support.ts';

/** What a case says of one day of one source, as far as it says anything. */
interface ExpectedRow {
  day: string;
  source?: string;
  wh?: number;
  flags?: string[];
  coverage?: number;
  method?: string;
}

/** A case as test/golden holds it: readings and the Wh of every day, all sources together; and what else is worth saying. */
export interface GoldenCase {
  id: string;
  /** The arithmetic. */
  why: string;
  timezone: string;
  energyStreams: EnergyStreamInput[];
  readings: Array<CaseReading & { table?: string }>;
  expected: Record<string, number>;
  /** Of the days of source "default". */
  days?: Record<string, Omit<ExpectedRow, 'day' | 'source'>>;
  rows?: ExpectedRow[];
  /** Everything that happened to the registers: what it was, and the Wh booked for it, sorted. */
  events?: Array<[kind: string, energyWh: number]>;
  /** How many readings were rejected, by reason. */
  quarantine?: Record<string, number>;
  /** Wh of intervals, by their start. */
  intervals?: Record<string, number>;
}

const folder = join(import.meta.dirname, '..', 'golden');

/** Every case of every file. */
export function goldenCases(): GoldenCase[] {
  return readdirSync(folder).flatMap((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')));
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

/** The readings of a case in tables and with devices of its own, with the offsets that their order gives them. */
export function ownReadings({ id, readings }: GoldenCase): CaseReading[] {
  return readings.map((reading, index) => ({
    ...reading,
    table: `${id}.${reading.table ?? 't'}`,
    device: deviceOf(id, reading.device ?? DEVICE),
    offset: BigInt(numbers.get(id)! * 1_000 + index),
  }));
}

/** What of a list has its turn in a round, so that all of it has had one after the last. */
export function pieceOf<Item>(list: readonly Item[], round: number, rounds: number): Item[] {
  return list.slice(
    Math.floor((round * list.length) / rounds),
    Math.floor(((round + 1) * list.length) / rounds),
  );
}

/** One site with the streams of all the cases. */
export function siteOf(cases: readonly GoldenCase[]): EnergySite {
  const streams = cases.flatMap(({ id, energyStreams }) =>
    energyStreams.map((stream) => ({
      ...stream,
      table: `${id}.${stream.table}`,
      registerEpochs: stream.registerEpochs?.map((epoch) => ({
        ...epoch,
        device: deviceOf(id, epoch.device),
      })),
    })),
  );
  return { timezone: cases[0]!.timezone, streams };
}

/** The rows that a case names. */
export function expectedRows({ days = {}, rows = [] }: GoldenCase) {
  const ofDefault = Object.entries(days).map(([day, row]) => ({ day, source: 'default', ...row }));
  return [...ofDefault, ...rows].map(({ flags, ...row }) =>
    flags ? { ...row, flags: flags.toSorted() } : row,
  );
}

/** Days by case: what the roll-up says of them, with the names of the flags. */
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
export async function quarantineOf(shard: Shard) {
  const rows = await rowsOf(
    shard,
    'SELECT device::VARCHAR AS device, reason, count(*)::INTEGER AS readings FROM quarantine GROUP BY ALL',
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
  return new Map(
    rows.map(({ device, start_ms, wh }) => [
      `${caseOf(device)} ${new Date(start_ms as number).toISOString().replace('.000', '')}`,
      wh,
    ]),
  );
}
