import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Transport } from '../client/stream-source.ts';
import type { Problem } from '../lib/errors.ts';
import { type Clock, SECOND_MS, type UtcMs } from '../lib/time.ts';
import type { OpenImport } from '../warehouse/shard-status.ts';
import type { Trouble } from './trouble.ts';

/** How far a workgroup is, as its worker last wrote it down. Plain JSON: offsets are text. */
export interface WorkgroupStatus {
  workgroupId: string;
  updatedAtMs: UtcMs;
  /** The process that wrote it. */
  processId: number;
  poll: StageStatus & {
    nextOffset?: string | undefined;
    /** What the last read came by. */
    transport?: Transport | undefined;
    upToDate?: boolean | undefined;
    /** Messages behind the head, where the upstream says so. */
    lagMessages?: number | undefined;
    /** Age of the newest message that has landed, while there are newer ones; 0 at the head. */
    lagSeconds?: number | undefined;
    messages?: number | undefined;
  };
  rollup: StageStatus & { batchId?: string | undefined; rejected?: number | undefined };
  publish: StageStatus & { generation?: number | undefined };
  maintain: StageStatus;
  gaps: number;
  quarantined: number;
  storedMessages: number;
  /** How many devices are in which state, once something was published. */
  devices?: { online: number; offline: number; unknown: number } | undefined;
  /** Files whose import has begun and does not count, once something was published. */
  imports?: OpenImport[] | undefined;
  /** What the data say against the configuration, by its path in it. */
  problems: Problem[];
  /** What keeps the worker from working on it; undefined where the worker of an older version wrote. */
  troubles?: Trouble[] | undefined;
}

export interface StageStatus {
  lastSuccessAtMs?: UtcMs | undefined;
  /** Set while it fails. */
  lastError?: { atMs: UtcMs; message: string } | undefined;
  /** When it first failed since the last success. */
  failingSinceMs?: UtcMs | undefined;
}

export type StatusStage = 'poll' | 'rollup' | 'publish' | 'maintain';

/**
 * Keeps the status of the workgroups of one worker and writes it to `status/<workgroup>.json`, at most once a second each, and less often
 * where there are more than twenty.
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
        'gaps' | 'quarantined' | 'storedMessages' | 'devices' | 'imports' | 'problems' | 'troubles'
      >
    >,
  ): void;
  of(workgroupId: string): WorkgroupStatus;
  /** Writes what has not been written yet. @throws what the system refuses */
  flush(): Promise<void>;
}

interface Entry {
  status: WorkgroupStatus;
  writtenAtMs: UtcMs;
  /** It has changed since it was written. */
  dirty: boolean;
  writing: Promise<void> | undefined;
}

export function createStatusBook(options: { dataDir: string; clock: Clock }): StatusBook {
  const { clock } = options;
  const folder = statusFolder(options.dataDir);
  mkdirSync(folder, { recursive: true });
  const known = new Map<string, Entry>();

  function entryOf(workgroupId: string) {
    let entry = known.get(workgroupId);
    if (!entry) {
      const status = emptyStatus(workgroupId, clock.now());
      entry = { status, writtenAtMs: 0, dirty: true, writing: undefined };
      known.set(workgroupId, entry);
    }
    return entry;
  }

  function change(workgroupId: string, facts: Partial<WorkgroupStatus>): void {
    const entry = entryOf(workgroupId);
    entry.status = { ...entry.status, ...facts, updatedAtMs: clock.now() };
    entry.dirty = true;
    if (entry.writing || clock.now() - entry.writtenAtMs < statusIntervalMs(known.size)) return;
    entry.writing = write(entry)
      // It is written again with the next change; that a disk is full is told by what has to be on it.
      .catch(() => {
        entry.dirty = true;
      })
      .finally(() => {
        entry.writing = undefined;
      });
  }

  /** Not on the main thread: to replace a file waits for the disk, with some file systems. */
  async function write(entry: Entry): Promise<void> {
    const path = join(folder, `${entry.status.workgroupId}.json`);
    const text = JSON.stringify(entry.status);
    entry.writtenAtMs = clock.now();
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
  };
}

/** Well below the time after which a status is taken for that of a worker that has ended. */
const WRITE_MS_MAX = 10 * SECOND_MS;
/** Twenty files a second are written of up to 200 workgroups together. */
const WRITE_MS_PER_WORKGROUP = 50;

/** How long after one write of a status the next may follow. */
export function statusIntervalMs(workgroups: number): number {
  return Math.min(WRITE_MS_MAX, Math.max(SECOND_MS, workgroups * WRITE_MS_PER_WORKGROUP));
}

/** The status of a workgroup of which nothing is known. */
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

/** The status of every workgroup that a worker has written down below `dataDir`; of no use where that was long ago. */
export function readStatuses(dataDir: string): WorkgroupStatus[] {
  let files: string[];
  try {
    files = readdirSync(statusFolder(dataDir));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return files
    .filter((file) => file.endsWith('.json'))
    .sort()
    .flatMap((file) => {
      const written = parseStatus(readFileSync(join(statusFolder(dataDir), file), 'utf8'));
      // Older versions found no problems.
      return written ? [{ ...written, problems: written.problems ?? [] }] : [];
    });
}

/** @returns undefined of what a power cut has left half written; the next run writes it anew */
function parseStatus(text: string): WorkgroupStatus | undefined {
  try {
    return JSON.parse(text) as WorkgroupStatus;
  } catch {
    return undefined;
  }
}

/** A worker writes every second or so, and every 10 s where nothing moves; after this nobody does. */
const SILENT_MS = 30 * SECOND_MS;

/** Whether a worker still writes it. */
export function isFresh({ updatedAtMs }: Pick<WorkgroupStatus, 'updatedAtMs'>, nowMs: UtcMs): boolean {
  return nowMs - updatedAtMs <= SILENT_MS;
}

function statusFolder(dataDir: string): string {
  return join(dataDir, 'status');
}
