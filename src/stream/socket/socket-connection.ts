import type { Authorization } from '../../access/authorize.ts';
import type { Grant } from '../../access/grant.ts';
import type { InTurn } from '../../lib/in-turn.ts';
import type { StreamLog } from '../log/stream-log.ts';
import type { FrameSource } from './socket-frames.ts';

/** The workgroup of a connection and the rights of its token. */
export interface ConnectionContext {
  workgroupId: string;
  grant: Grant;
  /** Changes when the device groups of the workgroup change. */
  devices: Authorization['devices'];
  /** True if the token may read audit messages. */
  seesAudit: boolean;
  log: StreamLog;
  frames: FrameSource;
}

/** The connection of one client, for its subscriptions. */
export interface SocketConnection {
  /**
   * True if the client acknowledges frames, and false if it does not. Undefined until its first frames show
   * it.
   */
  acknowledges: boolean | undefined;
  emit(event: string, payload: object): void;
  /**
   * Sends a data frame: its head and stored messages. If `onAcknowledged` is given, it is called when the
   * client acknowledges the frame.
   */
  sendFrame(head: Uint8Array, messages: Uint8Array, onAcknowledged: (() => void) | undefined): void;
  /** True if all sent data has been handed to the operating system. */
  isClear(): boolean;
  /**
   * Runs calls one after another. A subscription reads and sends a frame in one call. If two subscriptions
   * read at the same time, the frame of the first one could fill the connection, and the other frame would
   * have been read in vain.
   */
  inTurn: InTurn;
  /**
   * Calls the listener whenever the connection has become clear. Returns a function that removes the
   * listener.
   */
  onClear(listener: () => void): () => void;
  disconnect(): void;
}
