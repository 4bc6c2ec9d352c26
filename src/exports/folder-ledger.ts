import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import { replaceFile, syncFolder } from '../lib/durable-files.ts';
import { TerminalError } from '../lib/errors.ts';
import {
  byPeriod,
  type ExportLedger,
  type ExportRun,
  progressSchema,
  runName,
  runSchema,
} from './export-ledger.ts';

/**
 * Opens the ledger of an export in a data folder, as files below `exports/<id>/` that anybody can read. Each
 * file is written atomically.
 *
 *     progress.json              how far the schedule was processed
 *     pending/<run>.json         runs whose file is not delivered yet
 *     runs/<run>.json            runs whose file is delivered
 *     outbox/<file>              files that are not delivered yet
 */
export function openFolderLedger(dataDir: string, exportId: string): ExportLedger {
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
  const save = async (run: ExportRun) => {
    for (const folder of [folders.pending, folders.runs, outbox])
      mkdirSync(folder, { recursive: true, mode: 0o700 });
    const name = `${runName(run)}.json`;
    const text = `${JSON.stringify(runSchema.parse(run), undefined, 2)}\n`;
    const isEnded = existsSync(join(folders.runs, name));
    replaceFile(join(isEnded ? folders.runs : folders.pending, name), text);
    if (isEnded || run.state !== 'delivered') return;
    renameSync(join(folders.pending, name), join(folders.runs, name));
    syncFolder(folders.runs);
  };
  return {
    outbox,
    reload: () => undefined,
    progress: async () => (existsSync(progressPath) ? parse(progressPath, progressSchema) : undefined),
    async setProgress(progress) {
      mkdirSync(root, { recursive: true, mode: 0o700 });
      replaceFile(progressPath, `${JSON.stringify({ format: 1, ...progress })}\n`);
    },
    pending: async () =>
      namesIn(folders.pending)
        .map((name) => read(folders.pending, name))
        .sort(byPeriod),
    runs: async () => runsNamed(() => true),
    runsOf: async (period) =>
      runsNamed((name) => name === `${period}.json` || name.startsWith(`${period}_r`)),
    // The lock of the export keeps other processes of the data folder out.
    claim: save,
    save,
    async provideFile({ state, file }) {
      if (state === 'planned' || !file) return false;
      const found = await stat(join(outbox, file.name)).catch(() => undefined);
      return found?.size === file.bytes;
    },
    keepFile: async () => undefined,
    dropFile: ({ name }) => rm(join(outbox, name), { force: true }),
  };
}

function parse<Schema extends z.ZodType>(path: string, schema: Schema): z.output<Schema> {
  try {
    return schema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (cause) {
    throw new TerminalError(
      'ExportLedgerUnreadable',
      `${path} is not a valid entry of an export; restore it, or delete it to export the period again`,
      { cause },
    );
  }
}
