import type { NameTable } from '../decode/message-columns.ts';
import type { UtcMs } from '../lib/time.ts';
import type { CommitOutcome, Committer } from './committer.ts';
import type { PreparedWrite } from './landing-ledger.ts';

/** A committer that is kept from one transaction to the next, and replaced after each failure. */
export interface KeptCommitter {
  /** As `Committer.commit`, with the names that have not been stored yet. One at a time. */
  commit(writes: readonly PreparedWrite[], nowMs: UtcMs, onCommitting: () => void): Promise<CommitOutcome>;
  /** Gives the connection back as soon as no commit runs on it; the next commit opens another. */
  retire(): void;
}

export function keepCommitter(options: {
  names: NameTable;
  open(): Promise<Committer>;
  onCloseFailed(error: unknown): void;
}): KeptCommitter {
  let kept: Committer | undefined;
  let isCommitting = false;
  let isRetired = false;
  /** Names of batches that failed, too: those that come after them use the same ids. */
  let unsavedNames: ReturnType<NameTable['takeNew']> = [];

  function retire(): void {
    isRetired = isCommitting;
    if (isRetired) return;
    const spent = kept;
    kept = undefined;
    try {
      spent?.close();
    } catch (error) {
      options.onCloseFailed(error);
    }
  }

  return {
    async commit(writes, nowMs, onCommitting) {
      unsavedNames = unsavedNames.concat(options.names.takeNew());
      try {
        kept ??= await options.open();
        isCommitting = true;
        const outcome = await kept.commit(writes, unsavedNames, nowMs, onCommitting);
        if (outcome.kind === 'committed') unsavedNames = [];
        return outcome;
      } catch (error) {
        isRetired = true;
        throw error;
      } finally {
        isCommitting = false;
        if (isRetired) retire();
      }
    },
    retire,
  };
}
