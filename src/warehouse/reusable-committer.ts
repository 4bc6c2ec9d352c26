import type { NameTable, NewNames } from '../decode/message-columns.ts';
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
  let committer: Committer | undefined;
  let isCommitting = false;
  let isRetired = false;
  /**
   * The new names that are not stored yet. It keeps the names of failed batches, because later batches use
   * the same ids.
   */
  let unsaved: NewNames = { names: [], tables: [] };

  function retire(): void {
    isRetired = isCommitting;
    if (isRetired) return;
    const spent = committer;
    committer = undefined;
    try {
      spent?.close();
    } catch (error) {
      options.onCloseFailed(error);
    }
  }

  return {
    async commit(writes, nowMs, onCommitting) {
      const { names, tables } = options.names.takeNew();
      unsaved = { names: unsaved.names.concat(names), tables: unsaved.tables.concat(tables) };
      try {
        committer ??= await options.open();
        isCommitting = true;
        const outcome = await committer.commit(writes, unsaved, nowMs, onCommitting);
        if (outcome.kind === 'committed') unsaved = { names: [], tables: [] };
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
