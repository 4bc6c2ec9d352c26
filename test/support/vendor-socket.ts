import type { Duplex } from 'node:stream';
import { type ExtendedError, Server, type Socket } from 'socket.io';
import { encodeCbor } from '../../src/cbor/cbor-codec.ts';
import { SOCKET_PATH, socketEvents } from '../../src/contract/socket-events.ts';
import { jsonOf, type VendorMessage, type VendorServer } from './vendor-server.ts';

/** Details of a server of sockets, in addition to the form of its messages (`Dialect`). */
export interface SocketDialect {
  /** wrapped: binary content in a separate object. objects: plain ones, which socket.io turns into JSON. */
  form: 'binary' | 'array-buffer' | 'wrapped' | 'base64' | 'json-text' | 'json-pretty' | 'objects';
  /** root: an array. single: a frame is one message. */
  list: 'root' | 'single' | 'messages' | 'records' | 'data' | 'results' | 'rows' | 'items';
  cursor: 'nextOffset' | 'next_offset' | 'cursor' | 'none';
  bounds: 'inclusive' | 'exclusive';
  messagesPerFrame: number;
  /** True if it sends only a few frames before it waits for acknowledgements. */
  asksAcknowledgement: boolean;
  /** How it answers a subscription. `ok`: with a word that has no meaning. `none`: not at all. */
  answers: 'callback' | 'node-callback' | 'event' | 'both' | 'ok' | 'none';
  saysRequestId: boolean;
  /** True if the id of the request is a separate argument before the payload. */
  idFirst: boolean;
  saysUpToDate: boolean;
  saysEpoch: boolean;
  /** The time between two idle frames. */
  idleEveryMs: number | undefined;
}

export const plainSocketDialect: SocketDialect = {
  form: 'binary',
  list: 'messages',
  cursor: 'nextOffset',
  bounds: 'inclusive',
  messagesPerFrame: 1_000,
  asksAcknowledgement: true,
  answers: 'both',
  saysRequestId: true,
  idFirst: false,
  saysUpToDate: true,
  saysEpoch: true,
  idleEveryMs: undefined,
};

/** The fault of one connection or subscription. */
export type SocketFault =
  | 'refuse' // not let in, for a reason that may pass
  | 'leave-waiting' // neither let in nor refused
  | 'ignore' // let in, and then nothing
  | 'cut-before-data' // the connection breaks off after the answer to the subscription
  | 'cut' // or after the first frame
  | 'garbage' // a frame of bytes that are nothing
  | 'empty' // a frame without anything in it
  | 'lossy' // offsets as numbers that have lost their digits
  | 'complain' // an error event
  | 'error-frame' // an error where data should be
  | 'elsewhere' // it begins at the tail, whatever was asked for
  | 'offset_expired'
  | 'token_expired'
  | 'consumer_too_slow'
  | 'server_draining';

export interface VendorSocket {
  dialect: SocketDialect;
  subscriptions: Array<Record<string, unknown>>;
  handshakes: Array<{ auth: Record<string, unknown>; query: unknown; authorization: string | undefined }>;
  /**
   * The faults of the next connections (`refuse`, `leave-waiting`) and subscriptions, one each. Undefined:
   * none.
   */
  faults: Array<SocketFault | undefined>;
  /** The most frames that are sent and not acknowledged. */
  unacknowledgedMax: number;
  acknowledged: number;
  readonly connections: number;
  /** Cuts every connection. */
  cut(): void;
  /** Ends every subscription. */
  stop(reason: string): void;
}

const WINDOW = 4;
const LOOK_EVERY_MS = 5;

/** The same log as `vendor` serves, over socket.io. It ends with the vendor's server. */
export function addVendorSocket(vendor: VendorServer, dialect: Partial<SocketDialect> = {}): VendorSocket {
  const server = new Server(vendor.http, { path: SOCKET_PATH, serveClient: false });
  const added: VendorSocket = {
    dialect: { ...plainSocketDialect, ...dialect },
    subscriptions: [],
    handshakes: [],
    faults: [],
    unacknowledgedMax: 0,
    acknowledged: 0,
    get connections() {
      return server.sockets.sockets.size;
    },
    cut: () => server.disconnectSockets(true),
    stop: (reason) => void server.emit(socketEvents.stop, { reason }),
  };

  const upgraded = new Set<Duplex>();
  vendor.http.on('upgrade', (_request, connection) => {
    upgraded.add(connection);
    connection.once('close', () => upgraded.delete(connection));
  });
  const { close } = vendor;
  vendor.close = async () => {
    for (const connection of upgraded) connection.destroy();
    server.engine.close();
    await close();
  };

  server.use((socket, next) => {
    const { auth, query, headers } = socket.handshake;
    added.handshakes.push({ auth, query, authorization: headers.authorization });
    if (vendor.tokens && !vendor.tokens.has(String(auth.token))) {
      return next(refusal({ error: 'InvalidToken', message: 'no such token', status: 401 }));
    }
    if (added.faults[0] === 'refuse') {
      added.faults.shift();
      return next(refusal({ error: 'RateLimited', message: 'too many connections', status: 429 }));
    }
    if (added.faults[0] === 'leave-waiting') return void added.faults.shift();
    next();
  });
  server.on('connection', (socket) => {
    socket.on(socketEvents.subscribe, (payload, callback) => void serve(socket, payload, callback));
  });
  return added;

  async function serve(socket: Socket, payload: Record<string, unknown>, callback: unknown) {
    added.subscriptions.push(payload);
    const { requestId } = payload;
    const fault = added.faults.shift();
    const { bounds, asksAcknowledgement, idleEveryMs } = added.dialect;
    const stop = (reason: string) => socket.emit(socketEvents.stop, { requestId, reason });
    const answer = (content: Record<string, unknown>) => {
      const { answers } = added.dialect;
      const call = callback as ((...given: unknown[]) => void) | undefined;
      if (answers === 'callback' || answers === 'both') call?.(content);
      if (answers === 'node-callback') call?.(null, content);
      if (answers === 'ok') call?.('ok');
      if (answers === 'event' || answers === 'both') socket.emit(socketEvents.answer, content);
      return answers !== 'none' && answers !== 'ok';
    };
    if (fault === 'ignore') return;
    if (fault === 'complain') return void socket.emit('error', { code: 'E_INTERNAL', message: 'inside' });
    const facts = vendor.facts();
    const asked = payload.offset === undefined ? undefined : BigInt(String(payload.offset));
    const wrong =
      asked !== undefined && asked < facts.forgotten
        ? { error: 'OffsetExpired', message: 'the offset is no longer there', status: 410 }
        : asked !== undefined && asked > facts.next
          ? { error: 'OffsetAhead', message: 'the offset is past the end', status: 416 }
          : undefined;
    if (wrong) {
      const refused = { requestId, ...wrong, ...(added.dialect.saysEpoch && { epoch: facts.epoch }) };
      if (!answer(refused)) socket.emit('error', refused);
      return;
    }
    const isBefore = (message: VendorMessage) => {
      if (asked !== undefined)
        return bounds === 'exclusive' ? message.offset <= asked : message.offset < asked;
      return payload.timestamp === undefined || message.storeTimeMs < Number(payload.timestamp);
    };
    const log = vendor.messages;
    let sent = fault === 'elsewhere' ? log.length : log.filter(isBefore).length;
    const first = log[sent]?.offset ?? facts.next;
    const begin =
      fault === 'elsewhere' ? facts.next : (asked ?? (bounds === 'exclusive' ? first - 1n : first));
    answer({ requestId, nextOffset: String(begin), ...(added.dialect.saysEpoch && { epoch: facts.epoch }) });
    if (fault === 'cut-before-data') return void socket.conn.close();
    if (fault?.includes('_')) return void stop(fault);

    let unacknowledged = 0;
    let quietMs = 0;
    const send = (messages: VendorMessage[]) => {
      const last = messages.at(-1)?.offset ?? log.at(-1)?.offset;
      const next = last === undefined ? begin : bounds === 'exclusive' ? last : last + 1n;
      const content = contentOf(messages, next, sent === log.length, fault, requestId);
      const parameters = added.dialect.idFirst ? [requestId, content] : [content];
      unacknowledged += 1;
      added.unacknowledgedMax = Math.max(added.unacknowledgedMax, unacknowledged);
      if (!asksAcknowledgement) return void socket.emit(socketEvents.data, ...parameters);
      socket.emit(socketEvents.data, ...parameters, () => {
        unacknowledged -= 1;
        added.acknowledged += 1;
      });
    };
    const timer = setInterval(() => {
      if (log !== vendor.messages) return void socket.conn.close();
      while (sent < log.length && (!asksAcknowledgement || unacknowledged < WINDOW)) {
        const messages = log.slice(
          sent,
          sent + (added.dialect.list === 'single' ? 1 : added.dialect.messagesPerFrame),
        );
        sent += messages.length;
        send(messages);
        quietMs = 0;
        if (fault !== undefined) break;
      }
      quietMs += LOOK_EVERY_MS;
      if (idleEveryMs !== undefined && quietMs >= idleEveryMs && added.dialect.list !== 'single') {
        send([]);
        quietMs = 0;
      }
      if (fault !== undefined && sent > 0) {
        clearInterval(timer);
        if (fault === 'cut') setImmediate(() => socket.conn.close());
      }
    }, LOOK_EVERY_MS);
    socket.on('disconnect', () => clearInterval(timer));
    socket.on(socketEvents.stop, () => clearInterval(timer));
  }

  function contentOf(
    found: VendorMessage[],
    next: bigint,
    upToDate: boolean,
    fault: SocketFault | undefined,
    requestId: unknown,
  ): unknown {
    const { form, list, cursor, saysRequestId, saysUpToDate, saysEpoch } = added.dialect;
    if (fault === 'garbage') return Buffer.from([0xff, 0x00, 0x13]);
    if (fault === 'empty') return null;
    if (fault === 'lossy') return { messages: [{ offset: 2 ** 61, data: { value: 1 } }] };
    if (fault === 'error-frame') return inForm({ error: 'Internal', message: 'inside', status: 500 });
    const messages = found.map(vendor.spell);
    if (list === 'root') return inForm(messages);
    if (list === 'single') return inForm(messages[0]);
    return inForm({
      ...(saysRequestId && { requestId }),
      [list]: messages,
      ...(cursor !== 'none' && { [cursor]: vendor.dialect.offsetsAs === 'text' ? String(next) : next }),
      ...(saysUpToDate && { upToDate }),
      ...(saysEpoch && { epoch: vendor.facts().epoch }),
    });

    function inForm(content: unknown): unknown {
      const cbor = Buffer.from(encodeCbor(content));
      switch (form) {
        case 'binary':
          return cbor;
        case 'array-buffer':
          return new Uint8Array(cbor).buffer;
        case 'wrapped':
          return { requestId, payload: cbor };
        case 'base64':
          return cbor.toString('base64');
        case 'json-text':
          return jsonOf(content);
        case 'json-pretty':
          return jsonOf(content).replaceAll(',', ',\n');
        case 'objects':
          return JSON.parse(jsonOf(content));
        default:
          return form satisfies never;
      }
    }
  }
}

function refusal(data: Record<string, unknown>): ExtendedError {
  return Object.assign(new Error(String(data.message)), { data });
}
