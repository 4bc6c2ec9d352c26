import { io, type ManagerOptions, type Socket, type SocketOptions } from 'socket.io-client';
import { onTestFinished } from 'vitest';
import { decodeCbor } from '../../src/cbor/cbor-codec.ts';
import type { ReadBody, StreamMessage } from '../../src/contract/messages.ts';
import { SOCKET_PATH, type StopNotice, socketEvents } from '../../src/contract/socket-events.ts';
import { until } from './until.ts';

type Payload = Record<string, unknown>;
export type Frame = ReadBody & { requestId: string };

export interface TestReader {
  requestId: string;
  /** The answer that the acknowledgement callback of the subscription got. */
  answer: Promise<Payload>;
  frames: Frame[];
  messages: Array<StreamMessage & { msg_id?: number }>;
  stopped: Promise<StopNotice>;
  until(condition: (messages: TestReader['messages']) => boolean, withinMs?: number): Promise<void>;
}

export interface TestClient {
  socket: Socket;
  /** Answers as they came as events. */
  answers: Payload[];
  subscribe(payload: Payload): TestReader;
  close(): void;
}

export type ClientOptions = Partial<ManagerOptions & SocketOptions> & {
  /** True: frames are acknowledged at once. A function calls back when a frame is to be acknowledged. */
  acknowledge?: boolean | ((acknowledge: () => void) => void);
};

/** A client of the library. It is not connected yet, and it never connects again by itself. */
export function clientOf({ baseUrl }: { baseUrl: string }, options: ClientOptions = {}): TestClient {
  const { acknowledge = true, ...rest } = options;
  const socket = io(baseUrl, {
    path: SOCKET_PATH,
    transports: ['websocket'],
    reconnection: false,
    forceNew: true,
    ...rest,
  });
  const answers: Payload[] = [];
  const readers = new Map<string, TestReader & { stop(notice: StopNotice): void }>();
  socket.on(socketEvents.answer, (payload: Payload) => answers.push(payload));
  socket.on(socketEvents.stop, (notice: StopNotice) => readers.get(notice.requestId)?.stop(notice));
  socket.on(socketEvents.data, (bytes: Buffer, callback?: () => void) => {
    const frame = decodeCbor(bytes) as Frame;
    const reader = readers.get(frame.requestId);
    reader?.frames.push(frame);
    reader?.messages.push(...frame.messages);
    if (callback === undefined || acknowledge === false) return;
    if (acknowledge === true) callback();
    else acknowledge(callback);
  });
  onTestFinished(() => {
    socket.disconnect();
  });
  return {
    socket,
    answers,
    subscribe(payload) {
      const stopped = Promise.withResolvers<StopNotice>();
      const messages: TestReader['messages'] = [];
      const reader = {
        requestId: String(payload.requestId),
        answer: socket.emitWithAck(socketEvents.subscribe, payload) as Promise<Payload>,
        frames: [],
        messages,
        stopped: stopped.promise,
        stop: stopped.resolve,
        until: (condition: (messages: TestReader['messages']) => boolean, withinMs?: number) =>
          until('the messages are there', () => condition(messages), withinMs),
      };
      readers.set(reader.requestId, reader);
      return reader;
    },
    close: () => {
      socket.disconnect();
    },
  };
}

/** The same, connected. @throws Error with the `data` of the refusal */
export async function connectTo(
  service: { baseUrl: string },
  options: ClientOptions = {},
): Promise<TestClient> {
  const client = clientOf(service, options);
  await new Promise<void>((resolve, reject) => {
    client.socket.once('connect', resolve);
    client.socket.once('connect_error', reject);
  });
  return client;
}
