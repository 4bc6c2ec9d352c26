import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { replaceFile, syncFolder } from '../lib/durable-files.ts';
import { TerminalError } from '../lib/errors.ts';

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

const runSchema = z.object({
  format: z.literal(1),
  exportId: z.string(),
  workgroupId: z.string(),
  report: z.string(),
  /** The question of the run. Only runs with the same question are compared. */
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
      energyWh: z.number(),
      /** The sum of the energy of all rows. */
      rowsHash: z.string(),
      days: z.array(dayFactsSchema),
    })
    .optional(),
  attempts: z.number().int().min(0),
  nextAttemptAt: z.string().optional(),
  lastError: z.object({ at: z.string(), code: z.string(), message: z.string() }).optional(),
  delivered: z.object({ at: z.string(), to: z.string() }).optional(),
  /** Later changes in the lake. */
  outdated: z
    .object({ since: z.string(), generation: z.number().int(), days: z.array(changedDaySchema) })
    .optional(),
});

/** One run of an export: the file of a period, and its state. */
export type ExportRun = z.output<typeof runSchema>;
export type ChangedDay = z.output<typeof changedDaySchema>;

const progressSchema = z.object({
  format: z.literal(1),
  /** Instants of the schedule up to this one are in the ledger. */
  dueAfter: z.string(),
  /** The generation and the time of the last comparison. */
  compared: z.object({ at: z.string(), generation: z.number().int() }).optional(),
});
export type ExportProgress = z.output<typeof progressSchema>;

/**
 * The history of an export, as files below `exports/<id>/` that anybody can read. Each file is written atomically.
 *
 *     progress.json              how far the schedule was processed
 *     pending/<run>.json         runs whose file is not delivered yet
 *     runs/<run>.json            runs whose file is delivered
 *     outbox/<file>              files that are not delivered yet
 */
export interface ExportLedger {
  readonly outbox: string;
  progress(): ExportProgress | undefined;
  setProgress(progress: Omit<ExportProgress, 'format'>): void;
  pending(): ExportRun[];
  /** All runs, sorted by period. */
  runs(): ExportRun[];
  /** The runs of a period, sorted by revision. */
  runsOf(period: string): ExportRun[];
  /** Stores a run, and replaces its previous state. */
  save(run: ExportRun): void;
}

/** Opens the ledger of an export. It is created if it does not exist. */
export function openLedger(dataDir: string, exportId: string): ExportLedger {
  const root = join(dataDir, 'exports', exportId);
  const folders = { pending: join(root, 'pending'), runs: join(root, 'runs') };
  const outbox = join(root, 'outbox');
  const progressPath = join(root, 'progress.json');
  const namesIn = (folder: string) =>
    existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : [];
  const read = (folder: string, name: string) => parse(join(folder, name), runSchema);
  const runsNamed = (isWanted: (name: string) => boolean) => {
    const names = new Map(namesIn(folders.pending).map((name) => [name, folders.pending]));
    // After a crash both may exist. Then the delivered one counts.
    for (const name of namesIn(folders.runs)) names.set(name, folders.runs);
    return [...names]
      .filter(([name]) => isWanted(name))
      .map(([name, folder]) => read(folder, name))
      .sort(byPeriod);
  };
  return {
    outbox,
    progress: () => (existsSync(progressPath) ? parse(progressPath, progressSchema) : undefined),
    setProgress(progress) {
      mkdirSync(root, { recursive: true, mode: 0o700 });
      replaceFile(progressPath, `${JSON.stringify({ format: 1, ...progress })}\n`);
    },
    pending: () =>
      namesIn(folders.pending)
        .map((name) => read(folders.pending, name))
        .sort(byPeriod),
    runs: () => runsNamed(() => true),
    runsOf: (period) => runsNamed((name) => name === `${period}.json` || name.startsWith(`${period}_r`)),
    save(run) {
      for (const folder of [folders.pending, folders.runs, outbox])
        mkdirSync(folder, { recursive: true, mode: 0o700 });
      const name = `${runName(run)}.json`;
      const text = `${JSON.stringify(runSchema.parse(run), undefined, 2)}\n`;
      const isEnded = existsSync(join(folders.runs, name));
      replaceFile(join(isEnded ? folders.runs : folders.pending, name), text);
      if (isEnded || run.state !== 'delivered') return;
      renameSync(join(folders.pending, name), join(folders.runs, name));
      syncFolder(folders.runs);
    },
  };
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
  const kept = state === 'waiting' ? 'the file is kept, and a worker sends it again' : 'a worker tries again';
  return `${kept} after ${nextAttemptAt.slice(0, 19)}Z`;
}

function byPeriod(a: ExportRun, b: ExportRun): number {
  return a.endDay.localeCompare(b.endDay) || a.startDay.localeCompare(b.startDay) || a.revision - b.revision;
}

function parse<Schema extends z.ZodType>(path: string, schema: Schema): z.output<Schema> {
  try {
    return schema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (cause) {
    throw new TerminalError(
      'ExportLedgerUnreadable',
      `${path} is not a valid entry of an export; restore it, or remove it to export the period again`,
      { cause },
    );
  }
}
