import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type ExportLedger, isPending, runName } from './export-ledger.ts';

/**
 * Copies the runs that another ledger lacks, with the files that are not delivered. Existing runs stay as
 * they are.
 * @returns how many runs were copied, and how many existed
 */
export async function copyLedger(
  from: ExportLedger,
  to: ExportLedger,
  signal?: AbortSignal,
): Promise<{ copied: number; kept: number }> {
  // Read before the runs and stored after them, so that it never counts a run that was not copied.
  const progress = await from.progress();
  const existing = new Set((await to.runs()).map(runName));
  let copied = 0;
  for (const run of await from.runs()) {
    signal?.throwIfAborted();
    if (existing.has(runName(run))) continue;
    if (isPending(run) && run.file && (await from.provideFile(run))) {
      const { name } = run.file;
      await mkdir(to.outbox, { recursive: true, mode: 0o700 });
      await copyFile(join(from.outbox, name), join(to.outbox, name));
      await to.keepFile(run.file, signal);
    }
    await to.save(run);
    copied++;
  }
  if (progress && !(await to.progress())) await to.setProgress(progress);
  return { copied, kept: existing.size };
}
