import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { StaleOwnerError, TerminalError } from '../lib/errors.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import { query, queryLiterally } from '../warehouse/query.ts';
import { type Commit, isFormatOne, type StoredCommit } from './commit-schema.ts';
import type { LakePaths } from './lake-layout.ts';
import type { PublishableShard } from './publishable-shard.ts';

/**
 * The file in the folder of a lake that allows a warehouse to start a new lake although it has published
 * before.
 */
export const NEW_LAKE_FILE = 'new-lake';

/** The facts of a warehouse about its lake. */
export interface Publication {
  /** When the warehouse was created. */
  created_at_ms: number;
  /** The last landed batch, -1 for none. */
  batch_id: string;
  /** True if it has published with a version of Wattline before nonces. */
  has_published: boolean;
  /** Null if it has not published with nonces. */
  published_sequence: number | null;
  published_nonce: string | null;
  /** Null if no commit was ever planned. */
  planned_nonce: string | null;
}

export async function readPublication(connection: DuckDBConnection): Promise<Publication> {
  const [row] = await query<{ [Name in keyof Publication]: Publication[Name] }>(
    connection,
    'publish/find_publication',
  );
  return row!;
}

/**
 * Stores the commit that is about to be created. It must be durable before the commit exists, because a crash
 * can follow.
 */
export async function planCommit(shard: PublishableShard, commit: Pick<Commit, 'sequence' | 'nonce'>) {
  await shard.transaction((connection) => storePublication(connection, 'planned', commit), { isQuiet: true });
}

/** Stores the commit as the last one, in the transaction that published it. */
export async function storePublication(
  connection: DuckDBConnection,
  state: 'planned' | 'published',
  { sequence, nonce }: Pick<Commit, 'sequence' | 'nonce'>,
): Promise<void> {
  await queryLiterally(connection, loadSql('publish/store_publication'), { state, sequence, nonce });
}

/** @throws StaleOwnerError if the lake has a generation of a later owner */
export function refuseStaleOwner(
  head: StoredCommit | undefined,
  shard: Pick<PublishableShard, 'workgroupId' | 'epoch'>,
): void {
  if (head && BigInt(head.ownerEpoch) > shard.epoch) {
    throw new StaleOwnerError(shard.workgroupId, shard.epoch, BigInt(head.ownerEpoch));
  }
}

/**
 * A lake must continue from its own warehouse. With another file, or with an older copy, messages would be
 * lost or doubled.
 * @throws TerminalError `LakeMissing`, `ForeignLake`, `WarehouseBehindLake` or `LakeBehindWarehouse`
 */
export function refuseOtherWarehouse(
  head: StoredCommit | undefined,
  warehouse: Publication,
  { root }: LakePaths,
  workgroupId: string,
): void {
  const { published_sequence: published, published_nonce, planned_nonce } = warehouse;
  const newLake = `To publish what the warehouse still has to a new lake, move the folder ${root} away and create the empty file ${join(root, NEW_LAKE_FILE)}`;
  const refuse = (code: string, what: string, advice: string): never => {
    throw new TerminalError(code, `${what}. Nothing was published. ${advice}`, {
      details: { workgroupId, lakeSequence: head?.sequence, warehouseSequence: published ?? undefined },
    });
  };
  if (!head) {
    const hasPublished = published !== null || warehouse.has_published;
    if (!hasPublished || existsSync(join(root, NEW_LAKE_FILE))) return;
    refuse(
      'LakeMissing',
      `the lake of workgroup ${workgroupId} is missing: ${root} has no commits, but the warehouse has published${published === null ? '' : ` generation ${published}`}`,
      `Put the folder back, or restore warehouse and lake from a backup with "wattline restore". ${newLake}`,
    );
    return;
  }
  if (head.warehouseCreatedAtMs !== warehouse.created_at_ms) {
    refuse(
      'ForeignLake',
      `the lake of workgroup ${workgroupId} was published from another warehouse file`,
      `If the warehouse was deleted, stop the service and run "wattline restore --force", which takes the last snapshot in the lake, or name a backup. To begin without the history, move the folder ${root} away`,
    );
  }
  if (isFormatOne(head)) {
    // A lake of format 1 has no nonce. When it is migrated, it is compared by batch numbers.
    if (published === null && BigInt(head.batchId) <= BigInt(warehouse.batch_id)) return;
  } else if (head.nonce === published_nonce || head.nonce === planned_nonce) return;
  if (published !== null && published > head.sequence) {
    refuse(
      'LakeBehindWarehouse',
      `the lake of workgroup ${workgroupId} ends with generation ${head.sequence}, but the warehouse has published generation ${published}: the lake is an older copy`,
      `Put the newest lake back, or restore warehouse and lake together from a backup with "wattline restore". ${newLake}`,
    );
  }
  refuse(
    'WarehouseBehindLake',
    `the lake of workgroup ${workgroupId} has generation ${head.sequence}, which this warehouse has not published: the warehouse is an older copy, or its write-ahead log was damaged`,
    `Put the newest warehouse back, or stop the service and run "wattline restore --force", which takes the last snapshot in the lake, or name a backup. ${newLake}`,
  );
}
