/**
 * The stream over socket.io: its events, and what they carry beside the data frames, which are CBOR. These payloads are
 * JSON, so offsets in them are decimal text.
 */

/** Where the server is found, unless it is configured otherwise. */
export const SOCKET_PATH = '/socket.io-client';

export const socketEvents = {
  /** Client to server: subscribes. */
  subscribe: 'stream:latest',
  /** Server to client: the answer to a subscription, also where there is an acknowledgement callback. */
  answer: 'stream:latest:rpc',
  /** Server to client: one CBOR body, the REST answer and the `requestId`. */
  data: 'stream:latest:data',
  /** Either way: ends a subscription. */
  stop: 'stream:latest:stop',
} as const;

/** Why the server says that a subscription has ended. */
export type StopReason =
  | 'client_stop'
  | 'token_expired'
  | 'consumer_too_slow'
  | 'offset_expired'
  | 'server_draining';

/** The answer to a subscription that has begun. */
export interface SubscribeAnswer {
  requestId: string;
  /** Where it begins: what a client resumes from that is cut off before its first frame. */
  nextOffset: string;
  epoch: string;
  clamped?: 'retention' | 'future';
}

export interface StopNotice {
  requestId: string;
  reason: StopReason;
  /** One past the last message that was delivered or left out: where to resume. */
  nextOffset: string;
  /** An error map of the contract, where there is more to say. */
  error?: Record<string, unknown>;
}
