import { limits } from '../../contract/wire-limits.ts';
import { SECOND_MS } from '../../lib/time.ts';
import type { StartTimer } from '../../lib/timer.ts';
import type { SocketConnection } from './socket-connection.ts';

/**
 * Holds a subscription back while its reader is slow. Its messages stay in the log, so no frames collect in
 * memory.
 */
interface FlowControl {
  /** True if a frame may be sent now. */
  readonly isOpen: boolean;
  /**
   * Waits until a frame may be sent.
   * @returns false if the reader is far behind and has read nothing for too long
   */
  wait(): Promise<boolean>;
  /**
   * Counts a frame that is being sent. Returns the function for its acknowledgement, or undefined if the
   * frame needs none.
   */
  sending(): (() => void) | undefined;
  /** Ends waits and stops the timers. */
  close(): void;
}

interface FlowControlOptions {
  connection: Pick<SocketConnection, 'acknowledges' | 'isClear' | 'onClear'>;
  startTimer: StartTimer;
  isFarBehind(): Promise<boolean>;
}

/**
 * Without an acknowledgement in this time, the client counts as one that does not acknowledge. Then only the
 * transport holds the subscription back.
 */
const FIRST_ACKNOWLEDGEMENT_MS = 3 * SECOND_MS;
/** A reader that is far behind must read a frame within this time. */
const STALLED_MS = 30 * SECOND_MS;

export function createFlowControl({ connection, startTimer, isFarBehind }: FlowControlOptions): FlowControl {
  let unacknowledged = 0;
  let isClosed = false;
  let wake: (() => void) | undefined;
  let stopTimer: (() => void) | undefined;
  const endWait = () => wake?.();
  const stopListening = connection.onClear(endWait);

  const isOpen = () =>
    isClosed ||
    (connection.isClear() &&
      (connection.acknowledges === false || unacknowledged < limits.framesUnacknowledgedMax));

  /**
   * Resolves to true as soon as a frame is acknowledged or the transport has drained, and to false after
   * `STALLED_MS` without either.
   */
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
      return true;
    },
    sending() {
      if (connection.acknowledges === false) return undefined;
      unacknowledged++;
      if (connection.acknowledges === undefined)
        stopTimer ??= startTimer(FIRST_ACKNOWLEDGEMENT_MS, () => {
          if (connection.acknowledges !== undefined) return;
          connection.acknowledges = false;
          endWait();
        });
      return () => {
        connection.acknowledges = true;
        unacknowledged--;
        endWait();
      };
    },
    close() {
      isClosed = true;
      stopTimer?.();
      stopListening();
      endWait();
    },
  };
}
