import type { DuckDBConnection } from '@duckdb/node-api';
import type { Logger } from '../lib/logger.ts';
import type { Clock } from '../lib/time.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import { query, queryLiterally } from '../warehouse/query.ts';
import type { Commit, LakeFile } from './commit-schema.ts';
import { selectOf } from './datasets.ts';
import { type Declared, declareData, declaredInputs } from './declared-data.ts';
import { findPieces, readState, type WarehouseState } from './find-pieces.ts';
import { createCommit, isPublishConflict } from './lake-commit.ts';
import { discardFiles, type StagedFile, settleFile, stageFile, syncFolders } from './lake-file.ts';
import { planCommit, storePublication } from './lake-guard.ts';
import { type LakePaths, newNonce } from './lake-layout.ts';
import type { Piece } from './lake-piece.ts';
import { adoptCommit, forgetLake, openLake } from './open-lake.ts';
import type { PublishableShard } from './publishable-shard.ts';

export interface PublishOptions {
  /** The folder of all lakes. Each workgroup has its own below it. */
  lakeDir: string;
  /** The sources that add up to devices (default: all), and the meters, sites and energy streams. */
  declared?: Declared;
  clock: Clock;
  logger: Logger;
  signal?: AbortSignal;
}

export type PublishResult =
  | { kind: 'unchanged'; sequence: number | undefined }
  | { kind: 'published'; sequence: number; batchId: bigint; files: number; rows: number; bytes: number };

/**
 * Writes a new generation of the workgroup's lake if the warehouse has changed: only the changed partitions,
 * all read in one transaction, so that messages, intervals, days and checkpoint agree. After a crash the lake
 * has the previous or the new generation. Its cost depends on the change, and not on the number of files.
 * @throws TransientError `PublishConflict` if another publisher was first, StaleOwnerError if another worker
 *   has the shard, TransientError `DiskFull`, TerminalError if lake and warehouse do not belong together.
 *   After an error readers see nothing new, with one exception: if the warehouse failed after the commit
 *   entry was created, they see the new generation. The next publication continues from it
 */
export async function publish(shard: PublishableShard, options: PublishOptions): Promise<PublishResult> {
  const { clock, logger } = options;
  const startedMs = clock.now();
  const lake = await openLake(shard, options);
  const { head } = lake;

  const { inputs, commit } = await shard
    .transaction(
      (connection) =>
        commitChanges(connection, {
          shard,
          paths: lake.paths,
          head,
          publishedInputs: lake.publishedInputs,
          declared: options.declared ?? { devices: [] },
          nowMs: clock.now(),
          signal: options.signal,
        }),
      { isQuiet: true },
    )
    .catch((error: unknown) => {
      forgetLake(shard, lake);
      throw error;
    });
  if (commit) adoptCommit(lake, commit);
  lake.publishedInputs = inputs;
  const result = commit ? resultOf(commit, head) : { kind: 'unchanged' as const, sequence: head?.sequence };
  if (result.kind === 'published') {
    const { batchId, ...facts } = result;
    logger.info(
      {
        workgroup: shard.workgroupId,
        ...facts,
        batchId: String(batchId),
        durationMs: clock.now() - startedMs,
      },
      'publish.generation',
    );
  }
  return result;
}

function resultOf(commit: Commit, head: Commit | undefined): PublishResult {
  const known = new Set(head?.files);
  const written = commit.files.filter((file) => !known.has(file));
  return {
    kind: 'published',
    sequence: commit.sequence,
    batchId: BigInt(commit.batchId),
    files: written.length,
    rows: written.reduce((sum, { rows }) => sum + rows, 0),
    bytes: written.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/** From this many rows on, a publication uses all threads of DuckDB. */
const MANY_ROWS = 100_000;

interface Publication {
  shard: PublishableShard;
  paths: LakePaths;
  head: Commit | undefined;
  publishedInputs: string | undefined;
  declared: Declared;
  nowMs: number;
  signal: AbortSignal | undefined;
}

/** @returns what the declared datasets depend on, and the new commit; undefined if nothing is new */
async function commitChanges(
  connection: DuckDBConnection,
  publication: Publication,
): Promise<{ inputs: string; commit: Commit | undefined }> {
  const { shard, paths, head, declared, nowMs } = publication;
  const inputs = await declaredInputs(connection, declared);
  const isDeclaredDataCurrent = head !== undefined && inputs === publication.publishedInputs;
  if (!isDeclaredDataCurrent) await declareData(connection, declared);
  const state = await readState(connection, declared);
  const pieces = await findPieces(connection, head, state, { isDeclaredDataCurrent, nowMs });
  const staged: StagedFile[] = [];
  let isCommitting = false;
  try {
    const replace = () => replaceFiles(connection, publication, pieces, staged);
    const rows = pieces.reduce((sum, piece) => sum + piece.rows, 0);
    const replaced = await (rows >= MANY_ROWS ? shard.withAllThreads(replace) : replace());
    const files = replaced ?? (completesHead(head, state) ? head?.files : undefined);
    let commit: Commit | undefined;
    if (files) {
      commit = await describeCommit(connection, publication, state, files);
      await planCommit(shard, commit);
      isCommitting = true;
      await createCommit(paths, commit);
      await storePublication(connection, 'published', commit);
    }
    if (pieces.length > 0) await query(connection, 'publish/forget_dirty');
    // This is stored after readers can see the generation. Without changes they see everything already.
    const progress = { batch_id: state.rolledUpBatchId, now_ms: nowMs };
    await queryLiterally(connection, loadSql('publish/store_progress'), progress);
    return { inputs, commit };
  } catch (error) {
    // Files that a commit may name stay after a failure.
    if (!isCommitting || isPublishConflict(error)) await discardFiles(paths, staged);
    throw error;
  }
}

/**
 * True if messages were rolled up since the newest generation. If they brought no energy, no file changes.
 * But a caller that waits for their offset must see that their energy is complete.
 */
function completesHead(head: Commit | undefined, { rolledUpBatchId }: WarehouseState): boolean {
  return head !== undefined && rolledUpBatchId > BigInt(head.rolledUpBatchId);
}

/** @returns all files of the next generation; undefined if no file changes */
async function replaceFiles(
  connection: DuckDBConnection,
  { paths, head, nowMs, signal }: Publication,
  pieces: readonly Piece[],
  staged: StagedFile[],
): Promise<LakeFile[] | undefined> {
  const settling: Array<Promise<LakeFile | undefined>> = [];
  try {
    for (const { parameters, replaces: _, ...piece } of pieces) {
      signal?.throwIfAborted();
      if (piece.rows === 0) {
        settling.push(Promise.resolve(undefined));
        continue;
      }
      const select = selectOf(piece.dataset);
      const request = { ...piece, select, parameters, createdAtMs: nowMs, level: 0 };
      const file = await stageFile(connection, paths, (head?.sequence ?? 0) + 1, request);
      staged.push(file);
      settling.push(settleFile(paths, file));
    }
  } finally {
    // All writes must have ended before the caller continues.
    await Promise.allSettled(settling);
  }
  const settled = await Promise.all(settling);
  const removedNames = new Set<string>();
  const added: LakeFile[] = [];
  const same: StagedFile[] = [];
  for (const [index, { replaces }] of pieces.entries()) {
    const file = settled[index];
    if (file && replaces.length === 1 && replaces[0]!.sha256 === file.sha256) {
      same.push(...staged.filter((one) => one.file.name === file.name));
      continue;
    }
    for (const { name } of replaces) removedNames.add(name);
    if (file) added.push(file);
  }
  await discardFiles(paths, same);
  if (added.length === 0 && removedNames.size === 0) return undefined;
  await syncFolders(paths, added);
  return [...(head?.files.filter(({ name }) => !removedNames.has(name)) ?? []), ...added];
}

async function describeCommit(
  connection: DuckDBConnection,
  { shard, head, nowMs }: Publication,
  state: WarehouseState,
  files: LakeFile[],
): Promise<Commit> {
  const checkpoints = await query<{
    origin: string;
    log_epoch: string | null;
    next_offset: string;
    last_store_time_ms: number | null;
  }>(connection, 'publish/list_checkpoints');
  return {
    format: 2,
    nonce: newNonce(),
    workgroupId: shard.workgroupId,
    sequence: (head?.sequence ?? 0) + 1,
    createdAtMs: nowMs,
    ownerEpoch: String(shard.epoch),
    warehouseCreatedAtMs: state.createdAtMs,
    batchId: String(state.batchId),
    rolledUpBatchId: String(state.rolledUpBatchId),
    checkpoints: checkpoints.map((row) => ({
      origin: row.origin,
      logEpoch: row.log_epoch,
      nextOffset: row.next_offset,
      lastStoreTimeMs: row.last_store_time_ms,
    })),
    totals: totalsOf(files),
    files,
  };
}

/** The sums over the files of a generation, for checks. */
export function totalsOf(files: readonly LakeFile[]): Commit['totals'] {
  let messages = 0;
  let dailyEnergyWh = 0;
  for (const { dataset, rows, energyWh = 0 } of files) {
    if (dataset === 'messages') messages += rows;
    if (dataset === 'daily_energy') dailyEnergyWh += energyWh;
  }
  return { messages, dailyEnergyWh };
}
