import { limits } from '../../contract/wire-limits.ts';
import type { StartTimer } from '../../lib/timer.ts';
import type { SocketConnection } from './socket-connection.ts';

/** Whether the reader of a subscription takes what it is sent: the log is the buffer, so nothing else piles up. */
export interface FlowControl {
  /** Whether a frame may be sent now. */
  readonly isOpen: boolean;
  /**
   * Waits until a frame may be sent.
   * @returns false where the reader is far behind and has taken nothing for too long
   */
  wait(): Promise<boolean>;
  /** Takes note of a frame that is sent. The result is to be called when the client acknowledges it, if it should be asked. */
  sending(): (() => void) | undefined;
  /** Lets a wait go and stops the timers. */
  close(): void;
}

export interface FlowControlOptions {
  connection: Pick<SocketConnection, 'acknowledges' | 'isClear' | 'onClear'>;
  startTimer: StartTimer;
  isFarBehind(): Promise<boolean>;
}

/** A client that acknowledges frames has answered the first by then; one that does not is held back by its transport alone. */
const FIRST_ACKNOWLEDGEMENT_MS = 3_000;
/** A reader that is far behind has to take a frame within this time. */
const STALLED_MS = 30_000;

export function createFlowControl({ connection, startTimer, isFarBehind }: FlowControlOptions): FlowControl {
  let unacknowledged = 0;
  let closed = false;
  let wake: (() => void) | undefined;
  let stopTimer: (() => void) | undefined;
  const moved = () => wake?.();
  const stopListening = connection.onClear(moved);

  const isOpen = () =>
    closed ||
    (connection.isClear() &&
      (connection.acknowledges === false || unacknowledged < limits.framesUnacknowledgedMax));

  /** Resolves to whether anything moved in that time. */
  const movement = () =>
    new Promise<boolean>((resolve) => {
      const stopStalled = startTimer(STALLED_MS, () => resolve(false));
      wake = () => {
        stopStalled();
        resolve(true);
      };
    });

  return {
    get isOpen() {
      return isOpen();
    },
    async wait() {
      while (!isOpen()) {
        if (!(await movement()) && !isOpen() && (await isFarBehind())) return false;
      }
      wake = undefined;
      return true;
    },
    sending() {
      if (connection.acknowledges === false) return undefined;
      unacknowledged++;
      if (connection.acknowledges === undefined)
        stopTimer ??= startTimer(FIRST_ACKNOWLEDGEMENT_MS, () => {
          if (connection.acknowledges !== undefined) return;
          connection.acknowledges = false;
          moved();
        });
      return () => {
        connection.acknowledges = true;
        unacknowledged--;
        moved();
      };
    },
    close() {
      closed = true;
      stopTimer?.();
      stopListening();
      moved();
    },
  };
}
