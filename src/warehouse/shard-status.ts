import { statSync } from 'node:fs';
import type { DuckDBConnection } from '@duckdb/node-api';
import { DAY_MS, HOUR_MS, localDateOf, type UtcMs } from '../lib/time.ts';
import { type Checkpoint, readCheckpoints } from './checkpoint.ts';
import { loadSql } from './load-sql.ts';
import { query, queryLiterally } from './query.ts';

const FLAGGED_DAYS = 31;

/** A device that has announced its sleep counts as offline after this time without data. */
export const ASLEEP_MS_MAX = DAY_MS;

/** The contents of a warehouse, and how far it has read. */
export interface ShardStatus {
  workgroupId: string;
  path: string;
  epoch: bigint;
  /** The number of the last migration. */
  schema: number;
  checkpoints: Checkpoint[];
  messages: number;
  batches: number;
  quarantined: number;
  quarantinedByReason: Record<string, number>;
  /** Series with a roll-up that fails. The others are rolled up without them. */
  setAside: SetAsideSeries[];
  gaps: number;
  /** The time of the stream that is missing in open gaps, as far as it is known. */
  gapOpenMs: number;
  /** The number of days of devices and sources by quality flag, of the last `FLAGGED_DAYS` days. */
  daysFlagged: Record<string, number>;
  /** The number of versions of days that differ from a final version. */
  daysRestated: number;
  /** Messages of the stream that have landed, or were quarantined, in the last hour. */
  lastHour: { messages: number; quarantined: number };
  /** The event time of the newest reading that is not in the future. */
  newestReadingAtMs?: UtcMs | undefined;
  devices: DeviceCounts;
  /** Files of imports that have begun and do not count yet: an import still runs, or was given up. */
  imports: UnfinishedImport[];
  names: number;
  fileBytes: number;
  walBytes: number;
}

/** The number of devices in each state. */
export interface DeviceCounts {
  online: number;
  /** Announced as offline, and not asleep. */
  offline: number;
  /** Went to sleep less than a day ago, which is not a fault. Undefined in files of an older version. */
  asleep?: number;
  /** Their state is not known. */
  unknown: number;
}

export interface SetAsideSeries {
  device: string;
  source: string;
  field: string;
  sinceMs: UtcMs;
  /** What failed, without values of readings. */
  error: string;
}

export interface UnfinishedImport {
  path: string;
  state: 'landing' | 'dropped';
  rowsRead: number;
  /** When it last made progress, or was given up. */
  updatedAtMs: UtcMs;
}

type CountsRow = Record<
  | 'schema_number'
  | 'message_count'
  | 'batch_count'
  | 'gap_count'
  | 'gap_open_ms'
  | 'restated_count'
  | 'name_count',
  number
>;

export async function readShardStatus(
  connection: DuckDBConnection,
  { nowMs, ...shard }: Pick<ShardStatus, 'workgroupId' | 'path' | 'epoch'> & { nowMs: UtcMs },
): Promise<ShardStatus> {
  const [counts] = await query<CountsRow>(connection, 'land/count_landed');
  const reasons = await query<{ reason: string; readings: number }>(
    connection,
    'land/count_quarantine_reasons',
  );
  const sinceDay = localDateOf(nowMs - FLAGGED_DAYS * DAY_MS, 'Etc/UTC');
  const flags = await queryLiterally<{ flag: string; days: number }>(
    connection,
    loadSql('land/count_flagged_days'),
    {
      since_day: sinceDay,
    },
  );
  const [recent] = await queryLiterally<RecentRow>(connection, loadSql('land/count_recent'), {
    now_ms: BigInt(nowMs),
    landed_after_ms: BigInt(nowMs - HOUR_MS),
  });
  const setAside = await query<SetAsideRow>(connection, 'rollup/list_set_aside');
  const states = await queryLiterally<{ state: string; devices: number }>(
    connection,
    loadSql('device-status/count_states'),
    {
      asleep_from_ms: BigInt(nowMs - ASLEEP_MS_MAX),
    },
  );
  const checkpoints = await readCheckpoints(connection);
  const bytes = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return {
    ...shard,
    schema: counts!.schema_number,
    checkpoints: [...checkpoints.values()],
    messages: counts!.message_count,
    batches: counts!.batch_count,
    quarantined: reasons.reduce((sum, { readings }) => sum + readings, 0),
    quarantinedByReason: Object.fromEntries(reasons.map(({ reason, readings }) => [reason, readings])),
    setAside: setAside.map(({ since_ms, device, source, field, error }) => ({
      device,
      source,
      field,
      sinceMs: since_ms,
      error,
    })),
    gaps: counts!.gap_count,
    gapOpenMs: counts!.gap_open_ms,
    daysFlagged: Object.fromEntries(flags.map(({ flag, days }) => [flag, days])),
    daysRestated: counts!.restated_count,
    lastHour: { messages: recent!.messages, quarantined: recent!.quarantined },
    newestReadingAtMs: recent!.newest_reading_ms ?? undefined,
    devices: {
      online: 0,
      offline: 0,
      asleep: 0,
      unknown: 0,
      ...Object.fromEntries(states.map(({ state, devices }) => [state, devices])),
    },
    imports: await readOpenImports(connection),
    names: counts!.name_count,
    fileBytes: bytes(shard.path),
    walBytes: bytes(`${shard.path}.wal`),
  };
}

export async function readOpenImports(connection: DuckDBConnection): Promise<UnfinishedImport[]> {
  const imports = await query<ImportRow>(connection, 'land/find_open_imports');
  return imports.map(({ path, state, rows_read, updated_at_ms }) => ({
    path,
    state,
    rowsRead: rows_read,
    updatedAtMs: updated_at_ms,
  }));
}

type RecentRow = { messages: number; quarantined: number; newest_reading_ms: number | null };
type SetAsideRow = Omit<SetAsideSeries, 'sinceMs'> & { since_ms: number };
type ImportRow = { path: string; state: UnfinishedImport['state']; rows_read: number; updated_at_ms: number };
