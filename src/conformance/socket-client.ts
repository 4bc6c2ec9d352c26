import { randomUUID } from 'node:crypto';
import { io } from 'socket.io-client';
import { socketEvents } from '../contract/socket-events.ts';
import { errorMessage } from '../lib/errors.ts';
import { SECOND_MS } from '../lib/time.ts';
import { Breach, NotTestable } from './breach.ts';
import { type Item, itemMember, plain, readItem } from './cbor-item.ts';
import type { Probe } from './probe.ts';
import type { Sent } from './sent-request.ts';
import { shorten } from './server-answer.ts';
import { type Target, tokenShownAs } from './target.ts';

/** The authentication of a client. */
export interface ConnectHandshake {
  auth?: Record<string, string>;
  query?: Record<string, string>;
  extraHeaders?: Record<string, string>;
}

export type Payload = Record<string, unknown>;

/** A received data frame. */
export interface Frame {
  requestId: unknown;
  isBinary: boolean;
  bytes: number;
  item: Item | undefined;
  problem: string | undefined;
}

/** One connection. It keeps all events that were sent and received. */
export interface SocketClient {
  readonly sent: Sent;
  readonly answers: readonly Payload[];
  readonly frames: readonly Frame[];
  readonly stops: readonly Payload[];
  emit(event: string, payload: Payload): void;
  /** Sends an event and waits for its acknowledgement. @throws Breach if there is none */
  ask(event: string, payload: Payload): Promise<Payload>;
  /** Waits until `find` returns something. @throws Breach with `what`, when the time is over */
  until<Found>(what: string, find: () => Found | undefined, withinMs?: number): Promise<Found>;
}

export type Connection =
  | { kind: 'connected'; client: SocketClient }
  | { kind: 'refused'; data: unknown; sent: Sent };

const CONNECT_MS = 10 * SECOND_MS;
const ANSWER_MS = 3 * SECOND_MS;

/** The default authentication for the target. */
export function handshakeOf({ target }: Probe, token = target.token): ConnectHandshake {
  return { auth: { token, workgroupId: target.workgroup } };
}

/**
 * Connects, runs an action, and disconnects.
 * @throws NotTestable if the connection fails, because another rule checks that
 */
export async function withClient(
  probe: Probe,
  use: (client: SocketClient) => Promise<void>,
  token?: string,
): Promise<void> {
  const isOpen = await probe.once('socket', () => canConnect(probe));
  if (!isOpen) throw new NotTestable('no connection, see socket.auth');
  await withConnection(probe, handshakeOf(probe, token), async (connection) => {
    if (connection.kind === 'refused')
      throw new Breach(`the connection is refused: ${shorten(connection.data)}`, connection.sent);
    await use(connection.client);
  });
}

async function canConnect(probe: Probe): Promise<boolean> {
  try {
    let isOpen = false;
    await withConnection(probe, handshakeOf(probe), async ({ kind }) => {
      isOpen = kind === 'connected';
    });
    return isOpen;
  } catch (error) {
    if (error instanceof Breach) return false;
    throw error;
  }
}

/**
 * Connects with any authentication and runs an action, even if the connection is refused.
 * @throws Breach if the server does not answer
 */
export async function withConnection(
  probe: Probe,
  handshake: ConnectHandshake,
  use: (connection: Connection) => Promise<void>,
): Promise<void> {
  const { target } = probe;
  const { origin } = new URL(target.url);
  const steps = [
    `connect with socket.io to ${origin}, path ${target.socketPath}, ${inWords(handshake, target)}`,
  ];
  const sent: Sent = { kind: 'socket', steps };
  const socket = io(origin, {
    path: target.socketPath!,
    transports: ['websocket'],
    reconnection: false,
    forceNew: true,
    timeout: CONNECT_MS,
    ...handshake,
  });
  try {
    const client = createClient(socket, sent, steps);
    const refused = await new Promise<{ data: unknown } | undefined>((resolve, reject) => {
      socket.once('connect', () => resolve(undefined));
      socket.once('connect_error', (error: Error & { data?: unknown }) => {
        if (error.data === undefined) reject(new Breach(`no connection: ${errorMessage(error)}`, sent));
        else resolve({ data: error.data });
      });
    });
    await use(refused === undefined ? { kind: 'connected', client } : { kind: 'refused', ...refused, sent });
  } finally {
    socket.disconnect();
  }
}

function createClient(socket: ReturnType<typeof io>, sent: Sent, steps: string[]): SocketClient {
  const answers: Payload[] = [];
  const frames: Frame[] = [];
  const stops: Payload[] = [];
  const listeners = new Set<() => void>();
  const keep = <Entry>(list: Entry[], entry: Entry) => {
    list.push(entry);
    for (const listener of [...listeners]) listener();
  };
  socket.on(socketEvents.answer, (payload: Payload) => keep(answers, payload));
  socket.on(socketEvents.stop, (payload: Payload) => keep(stops, payload));
  socket.on(socketEvents.data, (payload: unknown, acknowledge?: () => void) => {
    keep(frames, frameOf(payload));
    acknowledge?.();
  });
  const step = (event: string, payload: Payload) => steps.push(`emit ${event} ${shorten(payload)}`);
  return {
    sent,
    answers,
    frames,
    stops,
    emit(event, payload) {
      step(event, payload);
      socket.emit(event, payload);
    },
    async ask(event, payload) {
      step(event, payload);
      try {
        return (await socket.timeout(ANSWER_MS).emitWithAck(event, payload)) as Payload;
      } catch {
        throw new Breach(`no acknowledgement of ${event} within ${ANSWER_MS / SECOND_MS} s`, sent);
      }
    },
    until(what, find, withinMs = ANSWER_MS) {
      return new Promise((resolve, reject) => {
        const check = () => {
          try {
            const found = find();
            if (found === undefined) return;
            resolve(found);
          } catch (error) {
            reject(error);
          }
          end();
        };
        const timer = setTimeout(() => {
          end();
          const came = `${shorten(answers)}, ${frames.length} frames, ${shorten(stops)}`;
          reject(new Breach(`${what} did not come within ${withinMs / SECOND_MS} s, but ${came}`, sent));
        }, withinMs);
        const end = () => {
          clearTimeout(timer);
          listeners.delete(check);
        };
        listeners.add(check);
        check();
      });
    },
  };
}

function frameOf(payload: unknown): Frame {
  const isBinary = payload instanceof Uint8Array;
  const bytes = isBinary ? payload.length : 0;
  try {
    const item = isBinary ? readItem(payload) : undefined;
    const requestId = item && itemMember(item, 'requestId');
    const problem = isBinary ? undefined : `${typeof payload}, not binary`;
    return { requestId: requestId && plain(requestId), isBinary, bytes, item, problem };
  } catch (error) {
    return { requestId: undefined, isBinary, bytes, item: undefined, problem: errorMessage(error) };
  }
}

function inWords(handshake: ConnectHandshake, target: Target): string {
  const hideToken = (_: string, value: unknown) => {
    if (typeof value !== 'string') return value;
    const [, scheme = '', token = ''] = /^(Bearer )?(.*)$/.exec(value)!;
    return scheme + tokenShownAs(target, token);
  };
  return Object.entries(handshake)
    .map(([name, value]) => `${name} ${JSON.stringify(value, hideToken)}`)
    .join(', ');
}

/** The payload of a new subscription. */
export function request(members: Payload = {}): Payload & { requestId: string } {
  return { requestId: randomUUID(), ...members };
}
