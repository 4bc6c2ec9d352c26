import { createInTurn } from '../lib/in-turn.ts';
import type { Logger } from '../lib/logger.ts';
import type { AlertBook } from './alert-book.ts';
import type { AlertState } from './alert-state.ts';

/** The alarms of a workgroup, in the memory of the worker that has it and in its book. */
export interface OwnedAlertState {
  /**
   * Changes the state. Changes run one after another.
   * @returns the state after it; undefined if this worker has lost the workgroup
   */
  update(change: (state: AlertState) => AlertState): Promise<AlertState | undefined>;
  /** The state as this worker or another one has stored it. */
  read(): Promise<AlertState>;
  /** False after a change that the book could not take. It is stored with the next one. */
  isStored(): boolean;
  /** The next change claims the book again. */
  forget(): void;
  /** Resolves after the changes that were asked for until now. */
  settled(): Promise<void>;
}

export function createOwnedAlertState(options: {
  workgroupId: string;
  book: AlertBook;
  /** False once another worker may have the workgroup. Nothing is stored then. */
  isOwner(): boolean;
  /** Claims the state of the last owner, and then changes it. */
  takeOver(state: AlertState): AlertState;
  logger: Logger;
}): OwnedAlertState {
  const { workgroupId, book, isOwner, takeOver, logger } = options;
  let state: AlertState | undefined;
  let isUnreachable = false;
  const inTurn = createInTurn();
  return {
    update: (change) =>
      inTurn(async () => {
        if (!isOwner()) state = undefined;
        else state ??= takeOver(await book.claim());
        if (!state) return undefined;
        const changed = change(state);
        if (changed === state && !isUnreachable) return state;
        const saved = await book.save(changed);
        switch (saved.kind) {
          case 'saved':
            isUnreachable = false;
            state = changed;
            return state;
          case 'unreachable':
            // The lease shows that no other worker has the workgroup. People must learn that the store does
            // not answer.
            if (!isUnreachable)
              logger.warn({ workgroup: workgroupId, error: saved.why }, 'alerts.not-stored');
            isUnreachable = true;
            state = isOwner() ? changed : undefined;
            return state;
          case 'lost':
            logger.info({ workgroup: workgroupId }, 'alerts.taken-over');
            state = undefined;
            return undefined;
          default:
            return saved satisfies never;
        }
      }),
    read: async () => state ?? book.read(),
    isStored: () => !isUnreachable,
    forget() {
      state = undefined;
    },
    settled: () => inTurn(async () => undefined),
  };
}
