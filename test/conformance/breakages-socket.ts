import { decodeCbor, encodeCbor } from '../../src/cbor/cbor-codec.ts';
import type { Payload, SocketBreakage } from './breaking-socket.ts';

export interface SocketCase extends SocketBreakage {
  name: string;
  fails: string[];
}

const isData = (event: string) => event === 'stream:latest:data';
/** Changes every data frame. */
const onFrame = (change: (frame: Payload & { messages: Payload[] }) => void): SocketBreakage => ({
  toClient: (event, payload) => {
    if (!isData(event)) return [[event, payload]];
    const frame = decodeCbor(payload as Buffer) as Payload & { messages: Payload[] };
    change(frame);
    return [[event, Buffer.from(encodeCbor(frame))]];
  },
});
const onSubscribe = (change: (payload: Payload) => void): SocketBreakage => ({
  fromClient: (event, payload) => {
    if (event === 'stream:latest') change(payload);
    return payload;
  },
});

export const socketCases = (token: string, restrictedToken: string): SocketCase[] => [
  {
    name: 'auth is not looked at',
    fails: ['socket.auth', 'socket.refused'],
    handshake: ({ auth }) => {
      delete auth.token;
    },
  },
  {
    name: 'the query is not looked at',
    fails: ['socket.query'],
    handshake: ({ query }) => {
      delete query.token;
    },
  },
  {
    name: 'the header is not looked at',
    fails: ['socket.header'],
    handshake: ({ headers }) => {
      delete headers.authorization;
    },
  },
  {
    name: 'a refusal is text',
    fails: ['socket.refused'],
    refusal: ({ message }) => message,
  },
  {
    name: 'a refusal does not say whether to try again',
    fails: ['socket.refused'],
    refusal: ({ retryable: _, ...data }) => data,
  },
  {
    name: 'a subscription is not acknowledged',
    fails: ['socket.answer', 'socket.duplicate'],
    answer: (payload, as) => (as === 'acknowledgement' ? {} : payload),
  },
  {
    name: 'answers do not name the log',
    fails: ['socket.answer', 'socket.ahead'],
    answer: ({ epoch: _, ...payload }) => payload,
  },
  {
    name: 'a subscription without an id gets one',
    fails: ['socket.request-id'],
    ...onSubscribe((payload) => {
      payload.requestId ??= '0b0e7c1e-0000-4000-8000-000000000001';
    }),
  },
  {
    name: 'the same subscription twice is accepted',
    fails: ['socket.duplicate'],
    answer: (payload) => (payload.error === 'DuplicateRequest' ? { requestId: payload.requestId } : payload),
  },
  {
    name: 'a text that is not an offset is ignored',
    fails: ['socket.invalid'],
    ...onSubscribe((payload) => {
      if (payload.offset === 'abc') delete payload.offset;
    }),
  },
  {
    name: 'an offset past the tail does not say where the tail is',
    fails: ['socket.ahead'],
    answer: (payload) => {
      if (payload.error === 'OffsetAhead') delete payload.nextOffset;
      return payload;
    },
  },
  {
    name: 'audit messages are for everybody',
    fails: ['socket.audit'],
    ...onSubscribe((payload) => {
      if (payload.table === 'audit_logs') payload.table = 'nobody';
    }),
  },
  {
    name: 'frames are JSON text',
    fails: ['socket.frame', 'socket.replay', 'socket.newest', 'socket.live'],
    toClient: (event, payload) => [[event, isData(event) ? 'messages' : payload]],
  },
  {
    name: 'frames do not count their messages',
    fails: ['socket.frame'],
    ...onFrame((frame) => {
      delete frame.count;
    }),
  },
  {
    name: 'a timestamp starts at the tail',
    fails: ['socket.invalid', 'socket.replay'],
    ...onSubscribe((payload) => {
      delete payload.timestamp;
    }),
  },
  {
    name: 'every subscription starts at the oldest message',
    fails: ['socket.newest', 'socket.stop'],
    ...onSubscribe((payload) => {
      if (payload.offset === undefined) payload.timestamp ??= 0;
    }),
  },
  {
    name: 'frames come twice',
    fails: ['socket.replay', 'socket.live'],
    toClient: (event, payload) =>
      isData(event)
        ? [
            [event, payload],
            [event, payload],
          ]
        : [[event, payload]],
  },
  {
    name: 'every fourth message is lost',
    fails: ['socket.replay', 'socket.live'],
    ...onFrame((frame) => {
      frame.messages = frame.messages.filter(({ msg_id }) => Number(msg_id) % 4 !== 3);
    }),
  },
  {
    name: 'a table that nobody wrote to is all of them',
    fails: ['socket.filter'],
    ...onSubscribe((payload) => {
      if (String(payload.table).endsWith('_quiet')) payload.table = '-';
    }),
  },
  {
    name: 'everybody sees every device',
    fails: ['socket.audit', 'socket.filter'],
    handshake: ({ auth, query, headers }) => {
      for (const of of [auth, query]) if (of.token === restrictedToken) of.token = token;
      if (headers.authorization === `Bearer ${restrictedToken}`) headers.authorization = `Bearer ${token}`;
    },
  },
  {
    name: 'a stop is not answered',
    fails: ['socket.stop'],
    toClient: (event, payload) => (event === 'stream:latest:stop' ? [] : [[event, payload]]),
  },
];

/** Frames that are too large. */
export const frameCases: SocketCase[] = [
  {
    name: 'frames are padded to 1 MiB and more',
    fails: ['socket.frame-size'],
    ...onFrame((frame) => {
      frame.padding = Buffer.alloc(1024 * 1024);
    }),
  },
  {
    name: 'frames of short messages have 2,000',
    fails: ['socket.frame-size'],
    ...onFrame((frame) => {
      const isShort = frame.messages.every(({ data }) => !Object.hasOwn(data as Payload, 'text'));
      if (isShort) frame.messages.push(...frame.messages);
    }),
  },
];

/** Empty frames that come too early. */
export const heartbeatCase: SocketCase = {
  name: 'an empty frame comes at once',
  fails: ['socket.heartbeat'],
  toClient: (event, payload) =>
    event === 'stream:latest:rpc'
      ? [
          [event, payload],
          ['stream:latest:data', Buffer.from(encodeCbor({ messages: [], nextOffset: 1 }))],
        ]
      : [[event, payload]],
};
