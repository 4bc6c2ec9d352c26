import { setTimeout as sleep } from 'node:timers/promises';
import type { Told } from '../control/wire.ts';
import { TransientError } from '../errors.ts';
import type { ImportOutcome, ImportProgress } from '../import/import-file.ts';
import type { ImportState } from '../import/job.ts';
import type { Mapping } from '../import/mapping.ts';
import type { ImportOwner } from './import-owner.ts';

export interface ImportRunOptions {
  owner: ImportOwner;
  files: readonly string[];
  table: string;
  mapping: Mapping;
  signal: AbortSignal;
  onProgress(progress: RunProgress): void;
}

export type RunProgress =
  | { kind: 'file'; path: string; progress: Told<ImportProgress> }
  /** What has landed is being rolled up (`part` of it is) or published. */
  | { kind: 'after'; part: number };

export interface ImportedFile {
  path: string;
  outcome: Told<ImportOutcome>;
}

const POLL_MS = 200;
/** A service that gets no further within this is not waited for any longer. */
const STUCK_MS = 5 * 60_000;

type Ended = Extract<Told<ImportState>, { kind: 'ended' }>;

/**
 * Imports files one after another, and returns once their energy is there: rolled up and published.
 * @param onFile told of each file that is done, also where a later one fails
 */
export async function runImport(
  options: ImportRunOptions,
  onFile: (file: ImportedFile) => void,
): Promise<void> {
  const { owner, signal } = options;
  const stop = () => void owner.stop().catch(() => undefined);
  signal.addEventListener('abort', stop, { once: true });
  try {
    let last: Ended | undefined;
    for (const path of options.files) {
      signal.throwIfAborted();
      const ended = await importOne(path, options);
      onFile({ path, outcome: ended.outcome });
      if (ended.outcome.kind !== 'nothing-usable') last = ended;
    }
    if (last) await settle(last, options);
  } catch (error) {
    throw signal.aborted ? interrupted() : error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

async function importOne(
  path: string,
  { owner, table, mapping, onProgress }: ImportRunOptions,
): Promise<Ended> {
  await owner.start({ path, table, mapping });
  for (;;) {
    const state = await owner.state();
    switch (state.kind) {
      case 'ended':
        return state;
      case 'running':
        onProgress({ kind: 'file', path, progress: state.progress });
        break;
      case 'idle':
        throw new TransientError(
          'ServiceEnded',
          'the service was started anew meanwhile; run the same command again to go on',
        );
      default:
        state satisfies never;
    }
    await sleep(POLL_MS);
  }
}

/** Rolls up and publishes, or waits until the service has. */
async function settle(last: Ended, { owner, signal, onProgress }: ImportRunOptions): Promise<void> {
  const lastBatchId = 'lastBatchId' in last.outcome ? last.outcome.lastBatchId : -1;
  const firstId = last.rolledUpBatchId;
  let movedAtMs = performance.now();
  let before = '';
  for (let state: Told<ImportState> = last; ; state = await owner.state()) {
    if (state.kind !== 'ended')
      throw new TransientError('ServiceEnded', 'the service was started anew; it rolls up what has landed');
    const { rolledUpBatchId, publishedBatchId } = state;
    if (rolledUpBatchId >= lastBatchId && publishedBatchId >= lastBatchId) return;
    signal.throwIfAborted();
    onProgress({ kind: 'after', part: partOf(rolledUpBatchId, firstId, lastBatchId) });
    const now = `${rolledUpBatchId} ${publishedBatchId}`;
    if (now !== before) movedAtMs = performance.now();
    else if (performance.now() - movedAtMs > STUCK_MS) {
      throw new TransientError(
        'NotRolledUp',
        'everything has landed, but the service does not roll it up; see "wattline status"',
      );
    }
    before = now;
    if (!(await owner.followUp())) await sleep(POLL_MS);
  }
}

/** Ids of batches of an import follow one upon another, far above those before. */
function partOf(batchId: number, firstId: number, lastBatchId: number): number {
  const ofImport = Math.floor(lastBatchId / 1e9) * 1e9;
  const first = Math.max(firstId, ofImport);
  return batchId <= first ? 0 : (batchId - first) / Math.max(1, lastBatchId - first);
}

function interrupted(): TransientError {
  return new TransientError('Interrupted', 'interrupted; the same command goes on where it stopped');
}
