import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { encodeCbor } from '../../src/cbor/cbor-codec.ts';
import { type Dialect, plainDialect } from './vendor-dialect.ts';

/** The fault of one answer. */
export type Fault =
  | 'page' // an HTML error page under 502
  | 'page-200' // an HTML page under 200, as captive portals and proxies send
  | 'busy' // 503 with a map
  | 'limited' // 429 with Retry-After
  | 'error-200' // the error under a good status
  | 'error-object' // 500 with the error as an object
  | 'truncated' // fewer bytes than announced
  | 'cut' // bytes missing, and nothing announced
  | 'reset' // the connection breaks off
  | 'garbage' // bytes that are nothing
  | 'unknown-offset' // it no longer knows the position, though the messages are there: only when an offset was asked for
  | 'hang' // no answer at all
  | 'stall'; // half an answer, then nothing

export interface VendorMessage {
  offset: bigint;
  storeTimeMs: number;
  value: number;
  /** Further members. They replace members of the same name. */
  more?: Record<string, unknown>;
}

export interface VendorRequest {
  offset: string | null;
  timestamp: string | null;
  authorization: string | undefined;
  prefer: string | undefined;
  acceptEncoding: string | undefined;
  url: string;
}

export interface VendorServer {
  url: string;
  /** The HTTP server. `vendor-socket.ts` adds its sockets to it. */
  http: Server;
  dialect: Dialect;
  requests: VendorRequest[];
  /** The faults of the next answers, one each. Undefined: a good answer. */
  faults: Array<Fault | undefined>;
  messages: VendorMessage[];
  append(count: number, options?: { step?: bigint; everyMs?: number }): VendorMessage[];
  /** Deletes the oldest messages. A read at one of their offsets then gets `expiredStatus`. */
  trim(count: number): void;
  /** Brings all deleted messages back, like a copy of the log. */
  restore(): void;
  /** Begins another log. Its offsets start low again. */
  recreate(): void;
  /** A message in the form of this server. */
  spell(message: VendorMessage): Record<string, unknown>;
  /** The first offset that is not deleted, the offset of the next message, and the epoch of the log. */
  facts(): { forgotten: bigint; next: bigint; epoch: string };
  /** The status for an expired offset. `silent`: no error; the read begins at the oldest message. */
  expired: 400 | 404 | 410 | 416 | 'opaque-400' | 'silent';
  /**
   * The status for an offset beyond the end of the log. `tail`: no error; the answer is empty, with a
   * position at the end.
   */
  ahead: 416 | 'tail' | 'oldest';
  /** The accepted tokens. Undefined: all. */
  tokens: Set<string> | undefined;
  close(): Promise<void>;
}

export const vendorDevice = '11111111-2222-4333-8444-555555555555';

/** Starts a server of another vendor on a free port of this machine. */
export async function startVendor(dialect: Partial<Dialect> = {}): Promise<VendorServer> {
  let epoch = 1;
  let forgotten = 0n;
  let trimmed: VendorMessage[] = [];
  let lastOffset = 1_000n;
  let lastStoreTimeMs = 1_760_000_000_000;
  let served = 0;

  const server = createServer((request, response) => {
    handle(request, response);
  });
  const vendor: VendorServer = {
    url: '',
    http: server,
    dialect: { ...plainDialect, ...dialect },
    requests: [],
    faults: [],
    messages: [],
    expired: 410,
    ahead: 416,
    tokens: undefined,
    append(count, { step = 1n, everyMs = 7 } = {}) {
      const added = Array.from({ length: count }, () => {
        lastOffset += step;
        lastStoreTimeMs += everyMs;
        return { offset: lastOffset, storeTimeMs: lastStoreTimeMs, value: served++ };
      });
      vendor.messages.push(...added);
      return added;
    },
    trim(count) {
      const gone = vendor.messages.splice(0, count);
      forgotten = gone.at(-1)?.offset ?? forgotten;
      trimmed.push(...gone);
    },
    restore() {
      vendor.messages.unshift(...trimmed);
      trimmed = [];
      forgotten = 0n;
    },
    recreate() {
      epoch++;
      forgotten = 0n;
      lastOffset = 10n;
      // All messages of the old log are older than the new log.
      lastStoreTimeMs += 60_000;
      vendor.messages = [];
    },
    spell: spelled,
    facts: () => ({ forgotten, next: lastOffset + 1n, epoch: `epoch-${epoch}` }),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  vendor.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return vendor;

  function handle(request: IncomingMessage, response: ServerResponse) {
    const url = new URL(request.url ?? '/', vendor.url);
    const offset = url.searchParams.get('offset');
    const timestamp = url.searchParams.get('timestamp');
    vendor.requests.push({
      offset,
      timestamp,
      authorization: request.headers.authorization,
      prefer: request.headers.prefer as string | undefined,
      acceptEncoding: request.headers['accept-encoding'] as string | undefined,
      url: request.url ?? '',
    });
    if (vendor.tokens && !vendor.tokens.has((request.headers.authorization ?? '').replace('Bearer ', ''))) {
      return sendMap(response, 401, { error: 'InvalidToken', message: 'no such token' });
    }
    const fault = vendor.faults.shift();
    if (fault !== undefined && !(fault === 'unknown-offset' && offset === null)) {
      return fail(fault, response, () => read(offset, timestamp, Number(url.searchParams.get('limit'))));
    }
    const answer = read(offset, timestamp, Number(url.searchParams.get('limit')));
    send(response, answer.status, answer.body, answer.headers);
  }

  function read(offset: string | null, timestamp: string | null, limit: number) {
    const asked = offset === null ? undefined : BigInt(offset);
    const first = vendor.messages[0];
    if (asked !== undefined && asked < forgotten && vendor.expired !== 'silent') return expiredAnswer();
    if (asked !== undefined && asked > lastOffset + 1n && vendor.ahead === 416) {
      return mapAnswer(416, {
        error: 'OffsetAhead',
        message: 'the offset is past the end',
        ...head(lastOffset + 1n),
      });
    }
    const isAhead = asked !== undefined && asked > lastOffset + 1n;
    const { bounds } = vendor.dialect;
    const from = (message: VendorMessage) => {
      if (isAhead && vendor.ahead === 'oldest') return true;
      if (asked !== undefined)
        return bounds === 'exclusive' ? message.offset > asked : message.offset >= asked;
      return timestamp === null || message.storeTimeMs >= Number(timestamp);
    };
    const found = vendor.messages.filter(from);
    const messages = found.slice(0, limit);
    const last = messages.at(-1)?.offset;
    const next = isAhead
      ? lastOffset + 1n
      : last === undefined
        ? (asked ?? (bounds === 'inclusive' ? lastOffset + 1n : lastOffset))
        : bounds === 'inclusive'
          ? last + 1n
          : last;
    return batchAnswer(messages, next, messages.length === found.length, first?.offset);
  }

  function head(next: bigint) {
    return { nextOffset: asOffset(next), ...(vendor.dialect.saysEpoch && { epoch: `epoch-${epoch}` }) };
  }

  function expiredAnswer() {
    if (vendor.expired === 'opaque-400')
      return { status: 400, body: Buffer.from('Bad Request'), headers: {} };
    const status = vendor.expired as number;
    return mapAnswer(status, {
      error: status === 410 ? 'OffsetExpired' : { code: 'BAD_OFFSET', message: 'the offset is unknown' },
      message: 'the offset is no longer there',
      ...(vendor.messages[0] && { earliestOffset: asOffset(vendor.messages[0].offset) }),
      ...(vendor.dialect.saysEpoch && { epoch: `epoch-${epoch}` }),
    });
  }

  function batchAnswer(
    found: VendorMessage[],
    next: bigint,
    upToDate: boolean,
    earliest: bigint | undefined,
  ) {
    const { encoding, list, cursor, saysUpToDate, saysEpoch } = vendor.dialect;
    const messages = found.map(spelled);
    const headers: Record<string, string> = {};
    if (cursor === 'header') headers['stream-next-offset'] = String(next);
    if (encoding === 'cbor-sequence' || encoding === 'json-lines' || list === 'root') {
      if (saysUpToDate) headers['stream-up-to-date'] = String(upToDate);
      if (cursor !== 'header' && cursor !== 'none' && list !== 'root')
        messages.push({ [cursor]: asOffset(next) });
      return encodedAnswer(encoding === 'cbor' || encoding === 'json' ? [messages] : messages, headers);
    }
    return encodedAnswer(
      [
        {
          [list]: messages,
          ...(cursor !== 'header' && cursor !== 'none' && { [cursor]: asOffset(next) }),
          ...(saysUpToDate && { upToDate }),
          ...(saysEpoch && { epoch: `epoch-${epoch}` }),
          ...(earliest !== undefined && saysEpoch && { earliestOffset: asOffset(earliest) }),
        },
      ],
      headers,
    );
  }

  function encodedAnswer(roots: unknown[], headers: Record<string, string>) {
    const { encoding, saysContentType } = vendor.dialect;
    const isJson = encoding === 'json' || encoding === 'json-lines';
    const body = Buffer.concat(
      roots.map((root) => (isJson ? Buffer.from(`${jsonOf(root)}\n`) : Buffer.from(encodeCbor(root)))),
    );
    const contentType = saysContentType
      ? {
          cbor: 'application/cbor',
          'cbor-sequence': 'application/cbor-seq',
          json: 'application/json; charset=utf-8',
          'json-lines': 'application/x-ndjson',
        }[encoding]
      : 'application/octet-stream';
    return { status: 200, body, headers: { ...headers, 'content-type': contentType } };
  }

  function spelled({ offset, storeTimeMs, value, more }: VendorMessage): Record<string, unknown> {
    const { deviceAs, eventTimeAs } = vendor.dialect;
    return {
      offset: asOffset(offset),
      table: 'solar',
      [deviceAs]: vendorDevice,
      source: 'east',
      [eventTimeAs]: asTime(storeTimeMs - 500),
      store_time: asTime(storeTimeMs),
      data: { value, note: 'text' },
      ...more,
    };
  }

  function asOffset(offset: bigint): unknown {
    return vendor.dialect.offsetsAs === 'text' ? String(offset) : offset;
  }
  function asTime(ms: number): unknown {
    return vendor.dialect.timesAs === 'text' ? new Date(ms).toISOString() : ms;
  }

  function mapAnswer(status: number, map: Record<string, unknown>) {
    const isJson = vendor.dialect.encoding.startsWith('json');
    return {
      status,
      body: isJson ? Buffer.from(jsonOf(map)) : Buffer.from(encodeCbor(map)),
      headers: { 'content-type': isJson ? 'application/json' : 'application/cbor' } as Record<string, string>,
    };
  }
  function sendMap(
    response: ServerResponse,
    status: number,
    map: Record<string, unknown>,
    headers = {},
  ): void {
    const answer = mapAnswer(status, map);
    send(response, status, answer.body, { ...answer.headers, ...headers });
  }

  function send(
    response: ServerResponse,
    status: number,
    body: Buffer,
    headers: Record<string, string>,
  ): void {
    const { compression } = vendor.dialect;
    const compress = { none: undefined, gzip: gzipSync, br: brotliCompressSync, zstd: zstdCompressSync }[
      compression
    ];
    const bytes = compress && status === 200 ? compress(body) : body;
    response.writeHead(status, {
      ...headers,
      ...(compress && status === 200 && { 'content-encoding': compression }),
      'content-length': bytes.length,
    });
    response.end(bytes);
  }

  function fail(fault: Fault, response: ServerResponse, answer: () => ReturnType<typeof read>) {
    const page =
      '<!DOCTYPE html><html><body>502 Bad Gateway: the limit of the table was reached</body></html>';
    switch (fault) {
      case 'page':
        return void response.writeHead(502, { 'content-type': 'text/html' }).end(page);
      case 'page-200':
        return void response.writeHead(200, { 'content-type': 'application/cbor' }).end(page);
      case 'busy':
        return sendMap(response, 503, {
          error: 'StorageUnavailable',
          message: 'later',
          status: 503,
          retryable: true,
        });
      case 'limited':
        return sendMap(response, 429, { error: 'RateLimited', message: 'slowly' }, { 'retry-after': '3' });
      case 'error-200':
        return sendMap(response, 200, { error: 'Something broke', message: 'inside' });
      case 'error-object':
        return sendMap(response, 500, { error: { code: 'E_INTERNAL', message: 'inside' } });
      case 'garbage':
        return void response
          .writeHead(200, { 'content-type': 'application/cbor' })
          .end(Buffer.from([0xff, 0x00, 0x13]));
      case 'unknown-offset':
        return sendMap(response, 400, {
          error: 'InvalidOffset',
          message: 'the offset is unknown',
          parameter: 'offset',
        });
      case 'reset':
        return void response.destroy();
      case 'hang':
        return;
      default: {
        const { body, headers, status } = answer();
        const half = body.subarray(0, Math.max(1, Math.floor(body.length / 2)));
        if (fault === 'cut') {
          // The connection is closed early, but the stated length fits. So only the bytes themselves show the
          // fault.
          return void response.writeHead(status, { ...headers, 'content-length': half.length }).end(half);
        }
        response.writeHead(status, { ...headers, 'content-length': body.length }).write(half);
        if (fault === 'truncated') setTimeout(() => response.destroy(), 2);
      }
    }
  }
}

/** JSON with bigints as bare integers, as servers in other languages write them. */
export function jsonOf(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, member]) => `${JSON.stringify(key)}:${jsonOf(member)}`)
    .join(',')}}`;
}
