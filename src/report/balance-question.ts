import type { DuckDBBlobValue, DuckDBValue } from '@duckdb/node-api';
import { type BalanceScope, scopeTables } from '../balance/balance-scope.ts';
import {
  type BalanceInputs,
  type BalanceResolution,
  balanceAnswerSql,
  balanceSql,
  emptyTable,
  lakeSources,
  scopeSizeSql,
} from '../balance/balance-sql.ts';
import { StreamError } from '../contract/stream-errors.ts';
import {
  addDays,
  dayBounds,
  HOUR_MS,
  INTERVAL_MS,
  type LocalDate,
  localDateOf,
  type UtcMs,
} from '../lib/time.ts';
import type { LakeFile } from '../publish/commit-schema.ts';
import { peakColumns, roleSpanColumns } from '../roles/role-rows.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import { queryText, type SqlParameters } from '../warehouse/query.ts';
import { boundsParameters, filesOfIntervals } from './day-report.ts';
import { fromParquet } from './lake/from-parquet.ts';
import type { Generation, LakeReader, QueryFiles } from './lake/lake-reader.ts';

/** The balance of a scope in one generation. */
export interface BalanceQuestion {
  scope: BalanceScope;
  resolution: BalanceResolution;
  startDay: LocalDate;
  /** Included. */
  endDay: LocalDate;
  /** The time zone of days, months and years. */
  zone: string;
  /** The time zone of the workgroup. Roles hold for its days. */
  ownZone: string;
  nowMs: UtcMs;
  generation: Generation | undefined;
}

interface BalanceStatement {
  /** The files of the generation that the answer reads. */
  files: LakeFile[];
  /** The balance as table "balance"; undefined if nothing of these days is published. */
  rows(): { reads: QueryFiles; sql: string; parameters: SqlParameters } | undefined;
  /** @throws StreamError if the scope has no source with a role, or the answer would be too large */
  read(lake: LakeReader, signal?: AbortSignal): Promise<Uint8Array[]>;
}

/** The maximum number of source days of one answer. Two cores need some seconds for them. */
const SOURCE_DAYS_MAX = 50_000;

export function balanceStatement(asked: BalanceQuestion): BalanceStatement {
  const built = asked.generation && build(asked, asked.generation);
  return {
    files: built ? [...built.reads.files] : [],
    rows() {
      if (!built) return undefined;
      const sql = balanceSql(built.inputs, asked.resolution);
      return { reads: built.reads, sql, parameters: parametersOf(sql, built.parameters) };
    },
    async read(lake, signal) {
      if (!built) return [Buffer.from('{}')];
      const { inputs, parameters, reads } = built;
      const periods = await lake.run(
        reads,
        async (connection) => {
          const run = <Row extends Record<string, DuckDBValue>>(sql: string) =>
            queryText<Row>(connection, sql, parametersOf(sql, parameters));
          const [size] = await run<{ sources: number; source_days: number }>(scopeSizeSql(inputs));
          refuseSize(size!);
          return run<{ period: string; value: DuckDBBlobValue }>(balanceAnswerSql(inputs, asked.resolution));
        },
        signal,
      );
      return assemble(periods);
    },
  };
}

/**
 * The current interval, which decides an answer in addition to its files: more intervals are over with time,
 * and some wait for data. `over` if the range ended more than an hour ago, because its answer then depends on
 * the files only.
 */
export function elapsedIntervalsOf({
  endDay,
  zone,
  nowMs,
}: Pick<BalanceQuestion, 'endDay' | 'zone' | 'nowMs'>): string {
  const { endMs } = dayBounds(endDay, endDay, zone)[0]!;
  return endMs + HOUR_MS + INTERVAL_MS <= nowMs ? 'over' : String(Math.floor(nowMs / INTERVAL_MS));
}

/** @throws StreamError if a scope has no source with a role, or more source days than an answer can have */
export function refuseSize({ sources, source_days }: { sources: number; source_days: number }): void {
  if (sources === 0)
    throw new StreamError(
      'NotFound',
      'balance: no source here has a role that is part of a balance; declare roles in the configuration, wattline config check suggests some by their names',
    );
  if (source_days > SOURCE_DAYS_MAX)
    throw new StreamError(
      'InvalidRequest',
      `the answer would need ${source_days} days of sources, but it can have at most ${SOURCE_DAYS_MAX}; ask for fewer days, or for a site or a device`,
    );
}

function assemble(periods: ReadonlyArray<{ period: string; value: DuckDBBlobValue }>): Uint8Array[] {
  const parts = periods.flatMap(({ period, value }, index) => [
    Buffer.from(`${index === 0 ? '' : ','}"${period}":`),
    value.bytes,
  ]);
  return [Buffer.from('{'), ...parts, Buffer.from('}')];
}

/** @returns undefined if no data for a balance is published */
function build(asked: BalanceQuestion, generation: Generation) {
  const { startDay, endDay, zone, ownZone, nowMs, scope } = asked;
  const zoneDays = dayBounds(startDay, endDay, zone);
  const [startMs, endMs] = [zoneDays[0]!.startMs, zoneDays.at(-1)!.endMs];
  // The range has only one day, and the time zone skipped it.
  if (startMs === endMs) return undefined;
  const own = {
    startDay: localDateOf(startMs, ownZone),
    endDay: localDateOf(endMs - 1, ownZone),
    zone: ownZone,
  };
  // The months before and after are read too. If a register sends nothing at the end of the range, only its
  // next reading tells the energy of that time.
  const [firstMonth, lastMonth] = [addDays(own.startDay, -31), addDays(own.endDay, 31)].map((day) =>
    day.slice(0, 7),
  );
  const lists = {
    day_files: generation
      .files('daily_energy')
      .filter(({ period }) => period >= firstMonth! && period <= lastMonth!),
    interval_files: filesOfIntervals(generation, own),
    series_files: generation.files('series'),
    role_files: generation.files('source_role'),
    peak_files: generation.files('peak_power'),
  };
  const scopes = scopeTables([scope]);
  const read = (name: keyof typeof lists, columns: Readonly<Record<string, string>>) =>
    lists[name].length > 0 ? fromParquet(name) : emptyTable(columns);
  const inputs: BalanceInputs = {
    rule: `SELECT * REPLACE ($now_ms::BIGINT AS now_ms) FROM (\n${loadSql('balance/find_rule')}\n)`,
    own_day: daysSql('own_'),
    zone_day: daysSql('zone_'),
    ...scopes.tables,
    role_span: read('role_files', roleSpanColumns),
    device_peak: read('peak_files', peakColumns),
    sources: lakeSources({
      daily_energy: read('day_files', {
        day: 'DATE',
        device: 'UUID',
        source: 'VARCHAR',
        stream_id: 'INTEGER',
        method: 'VARCHAR',
      }),
      interval_energy: read('interval_files', {
        device: 'UUID',
        source: 'VARCHAR',
        stream_id: 'INTEGER',
        interval_start: 'TIMESTAMPTZ',
        energy_wh: 'BIGINT',
        covered_ms: 'INTEGER',
        flags: 'VARCHAR[]',
      }),
      series: read('series_files', {
        device: 'UUID',
        source: 'VARCHAR',
        stream_id: 'INTEGER',
        step_ms: 'BIGINT',
        resolution_wh: 'DOUBLE',
      }),
    }),
  };
  const filled = Object.entries(lists).filter(([, files]) => files.length > 0);
  return {
    reads: { generation, files: Object.values(lists).flat() },
    inputs,
    parameters: {
      ...scopes.parameters,
      ...boundsParameters(own, 'own_'),
      ...boundsParameters({ startDay, endDay, zone }, 'zone_'),
      now_ms: BigInt(nowMs),
      ...Object.fromEntries(filled.map(([name, files]) => [name, files.map(generation.path)])),
    } as SqlParameters,
  };
}

/** Selects the parameters that the statement names, because DuckDB refuses all others. */
function parametersOf(sql: string, parameters: SqlParameters): SqlParameters {
  const named = new Set([...sql.matchAll(/\$([a-z_]+)/g)].map(([, name]) => name));
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => named.has(name)));
}

function daysSql(prefix: string): string {
  return `SELECT * FROM (SELECT unnest($${prefix}days::VARCHAR[])::DATE AS day, unnest($${prefix}starts_ms::BIGINT[]) AS start_ms, unnest($${prefix}ends_ms::BIGINT[]) AS end_ms) WHERE start_ms < end_ms`;
}
