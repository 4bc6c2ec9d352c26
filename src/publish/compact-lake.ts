import { MINUTE_MS, type UtcMs } from '../lib/time.ts';
import { MEBIBYTE } from '../lib/units.ts';
import type { Commit, LakeFile } from './commit-schema.ts';
import type { DatasetName } from './datasets.ts';
import { isLakeComplete, missingFiles } from './is-lake-complete.ts';
import { createCommit, isPublishConflict } from './lake-commit.ts';
import { discardFiles, type StagedFile, settleFile, stageFile, syncFolders } from './lake-file.ts';
import { planCommit, storePublication } from './lake-guard.ts';
import { filePath, type LakePaths, newNonce } from './lake-layout.ts';
import { isOver, type Period, type PeriodKind, periodKind, widen } from './lake-period.ts';
import { adoptCommit, forgetLake, openLake } from './open-lake.ts';
import { type PublishOptions, totalsOf } from './publish.ts';
import type { PublishableShard } from './publishable-shard.ts';

/** Several files that become one. */
interface Merge {
  dataset: DatasetName;
  folder: string;
  period: Period;
  level: number;
  files: readonly LakeFile[];
}

export type CompactResult =
  | { kind: 'unchanged'; merges: readonly Merge[] }
  | { kind: 'compacted'; sequence: number; merges: readonly Merge[] };

/**
 * In a growing period this many files of one level become one of the next, so that a row is rewritten rarely.
 */
const FAN_IN = 8;
/** A period is merged as a whole after its end, and after this time without new files. */
const QUIET_MS = 10 * MINUTE_MS;
/** Periods are merged to larger ones up to this size. One day of a device is still found in about 10 ms. */
const MERGED_BYTES_MAX = 32 * MEBIBYTE;
/** One run merges at most this much, so that it ends in time. The next run continues. */
const RUN_BYTES_MAX = 512 * MEBIBYTE;
const ORDER: Partial<Record<DatasetName, string>> = {
  messages: 'device, event_time, stream_offset',
  interval_energy: 'device, source, "table", field, interval_start',
  device_status: 'device, stream_offset',
  quarantine: 'device, event_time, stream_offset, field',
  rejected_reading: 'day, device, source, field, reason, import_id',
};

/**
 * The files of a generation to merge now, smallest work first.
 * @param newFilesMin this number of files that were never merged become one
 */
export function planMerges(commit: Commit, nowMs: UtcMs, newFilesMin = FAN_IN): Merge[] {
  const merges = [
    ...mergeGrowing(commit.files, 'messages', nowMs, newFilesMin),
    ...mergeGrowing(commit.files, 'quarantine', nowMs, newFilesMin),
    ...mergeEnded(commit.files, 'messages', 'hour', nowMs),
    ...mergeEnded(commit.files, 'messages', 'day', nowMs),
    ...mergeEnded(commit.files, 'messages', 'month', nowMs),
    ...mergeEnded(commit.files, 'quarantine', 'month', nowMs),
    ...mergeEnded(commit.files, 'interval_energy', 'month', nowMs),
    ...mergeEnded(commit.files, 'device_status', 'month', nowMs),
    ...mergeEnded(commit.files, 'rejected_reading', 'month', nowMs),
  ];
  const taken = new Set<string>();
  let bytes = 0;
  const chosen: Merge[] = [];
  for (const merge of merges.sort((a, b) => sizeOf(a.files) - sizeOf(b.files))) {
    if (merge.files.some(({ name }) => taken.has(name))) continue;
    bytes += sizeOf(merge.files);
    if (chosen.length > 0 && bytes > RUN_BYTES_MAX) break;
    for (const { name } of merge.files) taken.add(name);
    chosen.push(merge);
  }
  return chosen;
}

/** In a growing folder: files of the same level, if there are enough. */
function mergeGrowing(
  files: readonly LakeFile[],
  dataset: DatasetName,
  nowMs: UtcMs,
  newFilesMin: number,
): Merge[] {
  const open = files.filter((file) => file.dataset === dataset && !isOver(file.period, nowMs));
  return [...Map.groupBy(open, ({ folder, level }) => `${level}\n${folder}`).values()]
    .filter((group) => group.length >= (group[0]!.level === 0 ? newFilesMin : FAN_IN))
    .map((group) => mergeOf(dataset, group[0]!.folder, group[0]!.period, group));
}

/**
 * Of an ended period: all its files become one in the folder of that period, if they are small enough
 * together. So with little traffic hours become days and days become months, and with much traffic hours
 * stay.
 */
function mergeEnded(
  files: readonly LakeFile[],
  dataset: DatasetName,
  kind: PeriodKind,
  nowMs: UtcMs,
): Merge[] {
  const rank: Record<PeriodKind, number> = { hour: 0, day: 1, month: 2 };
  const candidates = files.filter(
    (file) => file.dataset === dataset && rank[periodKind(file.period)] <= rank[kind],
  );
  const groups = Map.groupBy(candidates, (file) => folderOf(file, kind));
  return [...groups]
    .filter(([, group]) => {
      const period = widen(group[0]!.period, kind);
      const isQuiet = group.every(({ createdAtMs }) => nowMs - createdAtMs >= QUIET_MS);
      const isMixed = group.some((file) => file.period !== group[0]!.period);
      return (
        group.length > 1 &&
        isOver(period, nowMs) &&
        isQuiet &&
        (!isMixed || dataset !== 'messages' || sizeOf(group) <= MERGED_BYTES_MAX)
      );
    })
    .map(([folder, group]) => mergeOf(dataset, folder, widen(group[0]!.period, kind), group));
}

/** The folder of a merged file of this period. */
function folderOf({ dataset, folder, period }: LakeFile, kind: PeriodKind): string {
  return dataset === 'messages' ? folder.replace(/hour=[^/]*$/, `hour=${widen(period, kind)}`) : folder;
}

function mergeOf(dataset: DatasetName, folder: string, period: Period, files: readonly LakeFile[]): Merge {
  return { dataset, folder, period, level: Math.max(...files.map(({ level }) => level)) + 1, files };
}

function sizeOf(files: readonly LakeFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/**
 * Merges small files of the newest generation into larger sorted ones, as a new generation with the same
 * rows.
 * @param options.dryRun only reports what would be merged
 * @param options.newFilesMin see `planMerges`
 * @throws as publish does
 */
export async function compactLake(
  shard: PublishableShard,
  options: PublishOptions & { dryRun?: boolean; newFilesMin?: number },
): Promise<CompactResult> {
  const { clock, logger, signal } = options;
  const startedMs = clock.now();
  const lake = await openLake(shard, options);
  const { paths, head } = lake;
  const planned = head ? planMerges(head, startedMs, options.newFilesMin) : [];
  // The others are planned again when their files are here.
  const merges = isLakeComplete(paths)
    ? planned
    : planned.filter(({ files }) => missingFiles(paths, files).length === 0);
  if (!head || merges.length === 0 || options.dryRun) return { kind: 'unchanged', merges };

  const staged: StagedFile[] = [];
  let isCommitting = false;
  let commit: Commit;
  try {
    const added = await mergeFiles(shard, paths, head, merges, staged, { nowMs: startedMs, signal });
    const mergedNames = new Set(merges.flatMap(({ files }) => files.map(({ name }) => name)));
    const files = [...head.files.filter(({ name }) => !mergedNames.has(name)), ...added];
    await syncFolders(paths, added);
    commit = {
      ...head,
      nonce: newNonce(),
      snapshot: undefined,
      sequence: head.sequence + 1,
      createdAtMs: startedMs,
      ownerEpoch: String(shard.epoch),
      totals: totalsOf(files),
      files,
    };
    await planCommit(shard, commit);
    isCommitting = true;
    await createCommit(paths, commit);
    await shard.transaction((connection) => storePublication(connection, 'published', commit), {
      isQuiet: true,
    });
  } catch (error) {
    forgetLake(shard, lake);
    if (!isCommitting || isPublishConflict(error)) await discardFiles(paths, staged);
    throw error;
  }
  adoptCommit(lake, commit);
  logger.info(
    {
      workgroup: shard.workgroupId,
      sequence: commit.sequence,
      merges: merges.length,
      files: merges.reduce((sum, { files }) => sum + files.length, 0),
      bytes: merges.reduce((sum, { files }) => sum + sizeOf(files), 0),
      durationMs: clock.now() - startedMs,
    },
    'publish.compact',
  );
  return { kind: 'compacted', sequence: commit.sequence, merges };
}

async function mergeFiles(
  shard: PublishableShard,
  paths: LakePaths,
  head: Commit,
  merges: readonly Merge[],
  staged: StagedFile[],
  { nowMs, signal }: { nowMs: UtcMs; signal: AbortSignal | undefined },
): Promise<LakeFile[]> {
  const connection = await shard.connect();
  try {
    const added: LakeFile[] = [];
    for (const { dataset, folder, period, level, files } of merges) {
      signal?.throwIfAborted();
      const inputs = files.map((file) => filePath(paths, file));
      const energyWh = files.reduce((sum, file) => sum + (file.energyWh ?? 0), 0);
      const file = await stageFile(connection, paths, head.sequence + 1, {
        dataset,
        folder,
        period,
        level,
        select: `SELECT * FROM read_parquet($inputs, hive_partitioning = false) ORDER BY ${ORDER[dataset]}`,
        parameters: { inputs },
        rows: files.reduce((sum, { rows }) => sum + rows, 0),
        ...(files.some((one) => one.energyWh !== undefined) && { energyWh }),
        createdAtMs: nowMs,
      });
      staged.push(file);
      added.push(await settleFile(paths, file));
    }
    return added;
  } finally {
    connection.closeSync();
  }
}
