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
  /** Wh; null where the day had, or has, no row. */
  beforeWh: z.number().nullable(),
  afterWh: z.number().nullable(),
});

const runSchema = z.object({
  format: z.literal(1),
  exportId: z.string(),
  workgroupId: z.string(),
  report: z.string(),
  /** What was asked for, to be compared only with the same. */
  question: z.string().optional(),
  period: z.string(),
  startDay: z.string(),
  endDay: z.string(),
  /** 1, and one more with each correction. */
  revision: z.number().int().min(1),
  reason: z.enum(['schedule', 'by hand', 'correction']),
  /**
   * - `planned`: due, and no file yet
   * - `waiting`: the file lies in the outbox and is to be delivered
   * - `delivered`: it is where it should be
   * - `failed`: it cannot be made or delivered until something is changed
   */
  state: z.enum(['planned', 'waiting', 'delivered', 'failed']),
  plannedAt: z.string(),
  /** What was written, once it was. */
  file: z
    .object({
      name: z.string(),
      rows: z.number().int(),
      bytes: z.number().int(),
      sha256: z.string(),
      /** The generation of the lake that it follows from. */
      generation: z.number().int(),
      zone: z.string(),
      energyWh: z.number(),
      /** Of the energy of all rows. */
      rowsHash: z.string(),
      days: z.array(dayFactsSchema),
    })
    .optional(),
  attempts: z.number().int().min(0),
  nextAttemptAt: z.string().optional(),
  lastError: z.object({ at: z.string(), code: z.string(), message: z.string() }).optional(),
  delivered: z.object({ at: z.string(), to: z.string() }).optional(),
  /** What the lake says otherwise by now. */
  outdated: z
    .object({ since: z.string(), generation: z.number().int(), days: z.array(changedDaySchema) })
    .optional(),
});

/** One run of an export: a file of a period, and what became of it. */
export type ExportRun = z.output<typeof runSchema>;
export type ChangedDay = z.output<typeof changedDaySchema>;

const progressSchema = z.object({
  format: z.literal(1),
  /** Instants of the schedule up to this one are in the ledger. */
  dueAfter: z.string(),
  /** The generation with which runs were last compared, and when. */
  compared: z.object({ at: z.string(), generation: z.number().int() }).optional(),
});
export type ExportProgress = z.output<typeof progressSchema>;

/**
 * What an export has done, as files below `exports/<id>/` that anybody can read. Each is written whole.
 *
 *     progress.json              how far the schedule has been followed
 *     pending/<run>.json         runs that have not delivered their file yet
 *     runs/<run>.json            those that have
 *     outbox/<file>              files that have not been delivered yet
 */
export interface ExportLedger {
  readonly outbox: string;
  progress(): ExportProgress | undefined;
  setProgress(progress: Omit<ExportProgress, 'format'>): void;
  pending(): ExportRun[];
  /** All runs, in the order of their periods. */
  runs(): ExportRun[];
  /** The runs of a period, in the order of their revisions. */
  runsOf(period: string): ExportRun[];
  /** Stores a run, in the place of what is known of it. */
  save(run: ExportRun): void;
}

/** Opens the ledger of an export, which need not exist yet. */
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
    // Where a crash left both, the one that has been delivered is true.
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

/** How a run is called: its period, and its revision where there are several. */
export function runName({ period, revision }: Pick<ExportRun, 'period' | 'revision'>): string {
  return revision === 1 ? period : `${period}_r${revision}`;
}

/** What becomes of a run that has failed; undefined of one that has not. */
export function afterFailure({ state, nextAttemptAt }: ExportRun): string | undefined {
  if (state === 'failed') return 'it is not tried again by itself; run it by hand once that is settled';
  if (state === 'delivered' || !nextAttemptAt) return undefined;
  const kept =
    state === 'waiting' ? 'the file is kept, and a worker sends it again' : 'a worker tries it again';
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
      `${path} cannot be read as an entry of the exports; restore it, or move it away to have that period exported again`,
      { cause },
    );
  }
}
