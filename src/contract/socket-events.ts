/**
 * The socket.io events of the stream and their payloads. Data frames are CBOR. All other payloads are JSON,
 * so offsets in them are decimal text.
 */

/** The default path of the socket.io server. */
export const SOCKET_PATH = '/socket.io-client';

export const socketEvents = {
  /** From client to server: subscribes. */
  subscribe: 'stream:latest',
  /** From server to client: answers a subscription. It is sent in addition to an acknowledgement. */
  answer: 'stream:latest:rpc',
  /** From server to client: one CBOR body, which is a REST answer with `requestId` and `fromOffset`. */
  data: 'stream:latest:data',
  /** From either side: ends a subscription. */
  stop: 'stream:latest:stop',
} as const;

/** The reason why a subscription has ended. */
export type StopReason =
  | 'client_stop'
  | 'token_expired'
  | 'consumer_too_slow'
  | 'offset_expired'
  | 'server_draining';

/** The answer to a new subscription. */
export interface SubscribeAnswer {
  requestId: string;
  /** The start. A client that is cut off before its first frame resumes from here. */
  nextOffset: string;
  epoch: string;
  clamped?: 'retention' | 'future';
}

export interface StopNotice {
  requestId: string;
  reason: StopReason;
  /** One past the last message that was delivered or filtered out. A client resumes from here. */
  nextOffset: string;
  /** An error map of the contract, if there is an error. */
  error?: Record<string, unknown>;
}
