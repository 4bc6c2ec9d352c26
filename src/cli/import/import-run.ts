import { setTimeout as sleep } from 'node:timers/promises';
import type { ImportOutcome } from '../../import/import-file.ts';
import type { ImportState } from '../../import/import-job.ts';
import type { Mapping } from '../../import/import-mapping.ts';
import type { ImportProgress } from '../../import/import-request.ts';
import { TransientError } from '../../lib/errors.ts';
import { followUpAll } from '../../service/follow-up-all.ts';
import type { WarehouseOwner } from '../../service/open-owner.ts';
import { waitUntilPublished } from '../../service/wait-until-published.ts';
import type { AsJson } from '../../worker-rpc/rpc-wire.ts';
import type { NamedFile } from './convert-workbooks.ts';

interface ImportRunOptions {
  owner: WarehouseOwner;
  files: readonly NamedFile[];
  table: string;
  mapping: Mapping;
  signal: AbortSignal;
  onProgress(progress: ImportRunProgress): void;
}

export type ImportRunProgress =
  | { kind: 'file'; path: string; progress: AsJson<ImportProgress> }
  /** Landed rows are being rolled up (`part` of them is) or published. */
  | { kind: 'after'; part: number };

export interface ImportedFile extends NamedFile {
  outcome: AsJson<ImportOutcome>;
}

const LOOK_EVERY_MS = 200;

type Ended = Extract<AsJson<ImportState>, { kind: 'ended' }>;

/**
 * Imports files one after another. Returns once their energy is rolled up and published.
 * @param onFile called after each file, even if a later one fails
 */
export async function runImport(
  options: ImportRunOptions,
  onFile: (file: ImportedFile) => void,
): Promise<void> {
  const { owner, signal } = options;
  const stop = () => void owner.ask('importStop', undefined).catch(() => undefined);
  signal.addEventListener('abort', stop, { once: true });
  try {
    let last: Ended | undefined;
    for (const file of options.files) {
      signal.throwIfAborted();
      const ended = await importOne(file, options);
      onFile({ ...file, outcome: ended.outcome });
      if (ended.outcome.kind !== 'nothing-usable') last = ended;
    }
    if (last && 'lastBatchId' in last.outcome) {
      await waitUntilPublished(last, last.outcome.lastBatchId, {
        owner,
        signal,
        state: () => owner.ask('importState', undefined),
        onProgress: (part) => options.onProgress({ kind: 'after', part }),
      });
      // The configuration may read more fields than at the first import. A service rolls these up by itself.
      if (last.outcome.kind === 'landed-before' && !(await followUpAll(owner, signal)))
        signal.throwIfAborted();
    }
  } catch (error) {
    throw signal.aborted ? interruptedError() : error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

async function importOne(
  { path, shownPath }: NamedFile,
  { owner, table, mapping, onProgress }: ImportRunOptions,
): Promise<Ended> {
  // A worker of an older version knows no other path.
  const shown = shownPath === path ? {} : { shownPath };
  await owner.ask('importStart', { path, ...shown, table, mapping });
  for (;;) {
    const state = await owner.ask('importState', undefined);
    switch (state.kind) {
      case 'ended':
        return state;
      case 'running':
        onProgress({ kind: 'file', path: shownPath, progress: state.progress });
        break;
      case 'idle':
        throw new TransientError(
          'ServiceEnded',
          'the service was restarted; run the same command again to continue',
        );
      default:
        state satisfies never;
    }
    await sleep(LOOK_EVERY_MS);
  }
}

function interruptedError(): TransientError {
  return new TransientError('Interrupted', 'interrupted; run the same command again to continue');
}
