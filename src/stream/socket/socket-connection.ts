import type { Authorization } from '../../access/authorize.ts';
import type { Grant } from '../../access/grant.ts';
import type { StreamLog } from '../log/stream-log.ts';
import type { FrameSource } from './socket-frames.ts';

/** What a connection was let in to: one workgroup, as far as its token reaches. */
export interface ConnectionContext {
  workgroupId: string;
  grant: Grant;
  devices: Authorization['devices'];
  /** Whether the token may see audit messages. */
  seesAudit: boolean;
  log: StreamLog;
  frames: FrameSource;
}

/** One client's connection, as its subscriptions see it. */
export interface SocketConnection {
  /**
   * Whether the client acknowledges frames, as far as is known. Told once by what it does with the first ones.
   */
  acknowledges: boolean | undefined;
  /** Sends an event of the contract. */
  emit(event: string, payload: object): void;
  /** Sends a data frame: its head, then stored messages. Where the client acknowledges it, `acknowledged` is called. */
  sendFrame(head: Uint8Array, messages: Uint8Array, acknowledged: (() => void) | undefined): void;
  /** Whether everything that was sent has been handed to the system. */
  isClear(): boolean;
  /** Calls back whenever the connection has become clear. The result ends that. */
  onClear(listener: () => void): () => void;
  disconnect(): void;
}
