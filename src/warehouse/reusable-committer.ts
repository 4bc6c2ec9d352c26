import type { NameTable } from '../decode/message-columns.ts';
import type { UtcMs } from '../lib/time.ts';
import type { CommitOutcome, Committer } from './committer.ts';
import type { PreparedWrite } from './landing-ledger.ts';

/** A committer that is kept for the next transaction, and replaced after each failure. */
export interface ReusableCommitter {
  /** Like `Committer.commit`; it also stores the new names. One call at a time. */
  commit(writes: readonly PreparedWrite[], nowMs: UtcMs, onCommitting: () => void): Promise<CommitOutcome>;
  /** Closes the connection when no commit runs on it. The next commit opens another one. */
  retire(): void;
}

export function createReusableCommitter(options: {
  names: NameTable;
  open(): Promise<Committer>;
  onCloseFailed(error: unknown): void;
}): ReusableCommitter {
  let kept: Committer | undefined;
  let isCommitting = false;
  let isRetired = false;
  /** Includes names of failed batches, because later batches use the same ids. */
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
