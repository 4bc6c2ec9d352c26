import { z } from 'zod';

const dayFactsSchema = z.object({
  day: z.string(),
  rows: z.number(),
  energyWh: z.number(),
  hash: z.string(),
});
const changedDaySchema = z.object({
  day: z.string(),
  /** Wh. Null if the day had, or has, no row. */
  beforeWh: z.number().nullable(),
  afterWh: z.number().nullable(),
});

export const runSchema = z.object({
  format: z.literal(1),
  exportId: z.string(),
  workgroupId: z.string(),
  report: z.string(),
  /** What the run exports, see `questionOf`. Runs are only compared if this is the same. */
  question: z.string().optional(),
  period: z.string(),
  startDay: z.string(),
  endDay: z.string(),
  /** 1, and one more for each correction. */
  revision: z.number().int().min(1),
  reason: z.enum(['schedule', 'by hand', 'correction']),
  /**
   * - `planned`: due, without a file
   * - `waiting`: the file is in the outbox and waits for delivery
   * - `delivered`: the file is delivered
   * - `failed`: the file cannot be made or delivered until something changes
   */
  state: z.enum(['planned', 'waiting', 'delivered', 'failed']),
  plannedAt: z.string(),
  /** The written file. */
  file: z
    .object({
      name: z.string(),
      rows: z.number().int(),
      bytes: z.number().int(),
      sha256: z.string(),
      /** The generation of the lake that it was made from. */
      generation: z.number().int(),
      zone: z.string(),
      /** The sum of the energy of all rows; null if no row has any. */
      energyWh: z.number().nullable(),
      rowsHash: z.string(),
      days: z.array(dayFactsSchema),
    })
    .optional(),
  attempts: z.number().int().min(0),
  nextAttemptAt: z.string().optional(),
  lastError: z.object({ at: z.string(), code: z.string(), message: z.string() }).optional(),
  delivered: z.object({ at: z.string(), to: z.string() }).optional(),
  /** Set if the energy of the file has changed in the lake since. */
  outdated: z
    .object({ since: z.string(), generation: z.number().int(), days: z.array(changedDaySchema) })
    .optional(),
});

/** One run of an export: the file of a period, and its state. */
export type ExportRun = z.output<typeof runSchema>;
export type ChangedDay = z.output<typeof changedDaySchema>;

export const progressSchema = z.object({
  format: z.literal(1),
  /** Instants of the schedule up to this one are in the ledger. */
  dueAfter: z.string(),
  /** The generation and the time of the last comparison. */
  compared: z.object({ at: z.string(), generation: z.number().int() }).optional(),
});
export type ExportProgress = z.output<typeof progressSchema>;

/** A file of a run: what identifies it. */
type OutgoingFile = Pick<NonNullable<ExportRun['file']>, 'name' | 'bytes' | 'sha256'>;

/** The history of an export, and the files that are not delivered yet. */
export interface ExportLedger {
  /** The local folder of files that are not delivered yet. */
  readonly outbox: string;
  /** Other processes may have changed the ledger. The next call reads it again. */
  reload(): void;
  progress(): Promise<ExportProgress | undefined>;
  setProgress(progress: Omit<ExportProgress, 'format'>): Promise<void>;
  /** Runs with a file that is not delivered yet. */
  pending(): Promise<ExportRun[]>;
  /** All runs, sorted by period. */
  runs(): Promise<ExportRun[]>;
  /** The runs of a period, sorted by revision. */
  runsOf(period: string): Promise<ExportRun[]>;
  /**
   * Begins an attempt: stores the run.
   * @throws TransientError `ExportBusy` if another process works on it, `ExportTaken` if another process has
   *   changed it
   */
  claim(run: ExportRun): Promise<void>;
  /**
   * Stores a run, and replaces its previous state.
   * @param more.isWorking true if the attempt continues
   * @throws TransientError `ExportTaken` if another process has changed the run since it was read
   */
  save(run: ExportRun, more?: { isWorking: boolean }): Promise<void>;
  /** Makes sure that the file of a run is in the outbox. @returns false if it must be written again */
  provideFile(run: ExportRun): Promise<boolean>;
  /** Stores a new file of the outbox where the next owner finds it. */
  keepFile(file: OutgoingFile, signal?: AbortSignal): Promise<void>;
  /** Deletes a file that is delivered. */
  dropFile(file: OutgoingFile): Promise<void>;
}

/** The name of a run: its period, and its revision if there are several. */
export function runName({ period, revision }: Pick<ExportRun, 'period' | 'revision'>): string {
  return revision === 1 ? period : `${period}_r${revision}`;
}

/** What happens after a failure of a run. Undefined if it has not failed. */
export function retryAdvice({ state, nextAttemptAt }: ExportRun): string | undefined {
  if (state === 'failed')
    return 'it is not retried automatically; run it by hand after you have solved the problem';
  if (state === 'delivered' || !nextAttemptAt) return undefined;
  const nextStep =
    state === 'waiting' ? 'the file is kept, and a worker sends it again' : 'a worker tries again';
  return `${nextStep} after ${nextAttemptAt.slice(0, 19)}Z`;
}

/** Sorts runs by period and revision. */
export function byPeriod(a: ExportRun, b: ExportRun): number {
  return a.endDay.localeCompare(b.endDay) || a.startDay.localeCompare(b.startDay) || a.revision - b.revision;
}

/** True for a run with a file that is not delivered yet. */
export function isPending({ state }: Pick<ExportRun, 'state'>): boolean {
  return state !== 'delivered';
}
