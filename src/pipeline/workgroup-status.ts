import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Transport } from '../client/stream-source.ts';
import { errorMessage, isMissing, type Problem } from '../lib/errors.ts';
import { tryParseJson } from '../lib/json-text.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, elapsedOf, SECOND_MS, type UtcMs } from '../lib/time.ts';
import type { LakeFillState } from '../replica/start-lake-fill.ts';
import type { DeviceCounts, UnfinishedImport } from '../warehouse/shard-status.ts';
import type { Trouble } from './trouble.ts';

/** The progress of a workgroup, as its worker last wrote it. Plain JSON: offsets are text. */
export interface WorkgroupStatus {
  workgroupId: string;
  updatedAtMs: UtcMs;
  /** The process that wrote it. */
  processId: number;
  /** True if the process has ended in order since then. */
  hasStopped?: true | undefined;
  poll: StageStatus & {
    nextOffset?: string | undefined;
    /** The transport of the last read. */
    transport?: Transport | undefined;
    upToDate?: boolean | undefined;
    /** Messages that are not read yet, if the upstream reports their number. */
    lagMessages?: number | undefined;
    /** Age of the newest landed message, while there are newer ones. 0 at the head. */
    lagSeconds?: number | undefined;
    /** Messages, and quarantined messages, since the worker has opened it. */
    messages?: number | undefined;
    quarantined?: number | undefined;
  };
  /** `rejected`: readings since the worker has opened it. */
  rollup: StageStatus & { batchId?: string | undefined; rejected?: number | undefined };
  publish: StageStatus & { generation?: number | undefined; generationAtMs?: UtcMs | undefined };
  maintain: StageStatus;
  /** True if its warehouse was closed because there is nothing to do. */
  isHibernated?: boolean | undefined;
  /**
   * Its state in the bucket. Undefined if no bucket is configured, or before its first owner on this machine.
   */
  bucket?: BucketStatus | undefined;
  gaps: number;
  quarantined: number;
  storedMessages: number;
  /** Figures for metrics. Set after the first publication. */
  figures?: WorkgroupFigures | undefined;
  /** The event time of the newest reading that is not in the future. */
  newestReadingAtMs?: UtcMs | undefined;
  /** The number of devices in each state. Set after the first publication. */
  devices?: DeviceCounts | undefined;
  /** Unfinished imports. Set after the first publication. */
  imports?: UnfinishedImport[] | undefined;
  /** Contradictions between data and configuration, by path. */
  problems: Problem[];
  /** Problems with the work on it. Undefined in files of an older version. */
  troubles?: Trouble[] | undefined;
}

export interface WorkgroupFigures {
  quarantinedByReason: Record<string, number>;
  /** Days of the last month by flag, see `ShardStatus`. */
  daysFlagged: Record<string, number>;
  daysRestated: number;
  /** The time of the stream that is missing. */
  gapOpenMs: number;
  warehouseBytes: number;
  /** The files of the newest generation. Undefined before the first one. */
  lakeBytes: number | undefined;
}

export interface StageStatus {
  lastSuccessAtMs?: UtcMs | undefined;
  /** Set while it fails. */
  lastError?: { atMs: UtcMs; message: string } | undefined;
  /** The first failure since the last success. */
  failingSinceMs?: UtcMs | undefined;
}

interface BucketStatus {
  /** When the bucket last had everything of this machine. Undefined if nothing was committed yet. */
  lastCommitAtMs: UtcMs | undefined;
  /** The newest commit of the bucket. */
  sequence: number;
  /** The first failure since the last success. */
  failingSinceMs: UtcMs | undefined;
  /** Set while it fails. */
  lastError: { atMs: UtcMs; message: string } | undefined;
  /**
   * True while this machine owns the workgroup and has all files of its lake. Reports read the bucket
   * otherwise.
   */
  isLakeComplete: boolean;
  /** Set after a takeover, until all files of the lake are copied from the bucket. */
  fill?: LakeFillState | undefined;
}

export type StatusStage = 'poll' | 'rollup' | 'publish' | 'maintain';

/**
 * Keeps the status of the workgroups of one worker, and writes each to `status/<workgroup>.json`: at most
 * once a second, and less often with more than twenty workgroups.
 */
export interface StatusBook {
  update<Stage extends StatusStage>(
    workgroupId: string,
    stage: Stage,
    facts: Partial<WorkgroupStatus[Stage]>,
  ): void;
  note(
    workgroupId: string,
    facts: Partial<
      Pick<
        WorkgroupStatus,
        | 'gaps'
        | 'quarantined'
        | 'storedMessages'
        | 'figures'
        | 'newestReadingAtMs'
        | 'devices'
        | 'imports'
        | 'problems'
        | 'troubles'
        | 'isHibernated'
        | 'bucket'
      >
    >,
  ): void;
  of(workgroupId: string): WorkgroupStatus;
  /** Writes all changes. @throws errors of the file system */
  flush(): Promise<void>;
  /**
   * Writes all changes, and that the worker has stopped. Files that another worker has written since are left
   * alone.
   * @throws errors of the file system
   */
  close(): Promise<void>;
}

interface Entry {
  status: WorkgroupStatus;
  /** See `elapsedOf`. */
  writtenAtMs: number;
  /** True if it has changed since it was written. */
  dirty: boolean;
  writing: Promise<void> | undefined;
}

export function createStatusBook(options: { dataDir: string; clock: Clock; logger: Logger }): StatusBook {
  const { clock, logger } = options;
  const folder = statusFolder(options.dataDir);
  mkdirSync(folder, { recursive: true });
  const known = new Map<string, Entry>();
  let hasFailed = false;

  function entryOf(workgroupId: string) {
    let entry = known.get(workgroupId);
    if (!entry) {
      // A worker that starts again still knows that something was published.
      const generation = readStatus(options.dataDir, workgroupId)?.publish.generation;
      const empty = emptyStatus(workgroupId, clock.now());
      const status = generation === undefined ? empty : { ...empty, publish: { generation } };
      entry = { status, writtenAtMs: Number.NEGATIVE_INFINITY, dirty: false, writing: undefined };
      known.set(workgroupId, entry);
    }
    return entry;
  }

  function change(workgroupId: string, facts: Partial<WorkgroupStatus>): void {
    const entry = entryOf(workgroupId);
    entry.status = { ...entry.status, ...facts, updatedAtMs: clock.now() };
    entry.dirty = true;
    if (entry.writing || elapsedOf(clock) - entry.writtenAtMs < statusIntervalMs(known.size)) return;
    entry.writing = write(entry)
      .then(() => {
        hasFailed = false;
      })
      .catch((error: unknown) => {
        // It is written again with the next change.
        entry.dirty = true;
        // Logged once, because a full disk fails each write.
        if (!hasFailed)
          logger.error({ workgroup: workgroupId, error: errorMessage(error) }, 'status.not-written');
        hasFailed = true;
      })
      .finally(() => {
        entry.writing = undefined;
      });
  }

  /** Asynchronous, because replacing a file waits for the disk on some file systems. */
  async function write(entry: Entry): Promise<void> {
    const path = join(folder, `${entry.status.workgroupId}.json`);
    const text = JSON.stringify(entry.status);
    entry.writtenAtMs = elapsedOf(clock);
    entry.dirty = false;
    await writeFile(`${path}.new`, text);
    await rename(`${path}.new`, path);
  }

  return {
    update(workgroupId, stage, facts) {
      change(workgroupId, { [stage]: { ...entryOf(workgroupId).status[stage], ...facts } });
    },
    note: change,
    of: (workgroupId) => entryOf(workgroupId).status,
    async flush() {
      for (const entry of known.values()) {
        await entry.writing;
        if (entry.dirty) await write(entry);
      }
    },
    async close() {
      for (const entry of known.values()) {
        await entry.writing;
        const { workgroupId, isHibernated } = entry.status;
        if (readStatus(options.dataDir, workgroupId)?.processId !== process.pid) continue;
        // Hibernating workgroups are left out: there can be thousands, and their status counts only while a
        // worker lives.
        if (!isHibernated) change(workgroupId, { hasStopped: true });
        await entry.writing;
        if (entry.dirty) await write(entry);
      }
    },
  };
}

/** Well below the time after which a status counts as stopped. */
const WRITE_MS_MAX = 10 * SECOND_MS;
/** At most twenty files a second in all, for up to 200 workgroups. */
const WRITE_MS_PER_WORKGROUP = 50;

/** The minimum time between two writes of a status. */
export function statusIntervalMs(workgroups: number): number {
  return Math.min(WRITE_MS_MAX, Math.max(SECOND_MS, workgroups * WRITE_MS_PER_WORKGROUP));
}

/** The status of an unknown workgroup. */
export function emptyStatus(workgroupId: string, nowMs: UtcMs): WorkgroupStatus {
  return {
    workgroupId,
    updatedAtMs: nowMs,
    processId: process.pid,
    poll: {},
    rollup: {},
    publish: {},
    maintain: {},
    gaps: 0,
    quarantined: 0,
    storedMessages: 0,
    problems: [],
  };
}

/** The status of one workgroup. @returns undefined if no worker has written one */
export function readStatus(dataDir: string, workgroupId: string): WorkgroupStatus | undefined {
  try {
    return parseStatus(readFileSync(join(statusFolder(dataDir), `${workgroupId}.json`), 'utf8'));
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** All status files below `dataDir`, also old ones. */
export function readStatuses(dataDir: string): WorkgroupStatus[] {
  let files: string[];
  try {
    files = readdirSync(statusFolder(dataDir));
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
  return files
    .filter((file) => file.endsWith('.json'))
    .sort()
    .flatMap((file) => {
      const written = parseStatus(readFileSync(join(statusFolder(dataDir), file), 'utf8'));
      // Older versions wrote no problems.
      return written ? [{ ...written, problems: written.problems ?? [] }] : [];
    });
}

/** @returns undefined for an incomplete file after a power cut; the next run writes it again */
function parseStatus(text: string): WorkgroupStatus | undefined {
  return tryParseJson(text) as WorkgroupStatus | undefined;
}

/**
 * A worker writes at least every 10 s, and when it stops. If it has not written for this time, it was killed
 * or has crashed.
 */
const SILENT_MS = 30 * SECOND_MS;

/** True if a worker still writes it, as far as the file says. */
export function isFresh(
  { updatedAtMs, hasStopped }: Pick<WorkgroupStatus, 'updatedAtMs' | 'hasStopped'>,
  nowMs: UtcMs,
): boolean {
  // If the time is in the future, the clock was set back after the status was written.
  return !hasStopped && Math.abs(nowMs - updatedAtMs) <= SILENT_MS;
}

function statusFolder(dataDir: string): string {
  return join(dataDir, 'status');
}
