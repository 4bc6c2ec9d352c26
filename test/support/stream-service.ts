import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { request } from 'undici';
import { onTestFinished } from 'vitest';
import { type Access, createAccess } from '../../src/access/access.ts';
import type { Gate } from '../../src/access/admit.ts';
import type { DeviceGroups } from '../../src/access/authorize.ts';
import type { WorkgroupScope } from '../../src/access/grant.ts';
import { decodeCbor } from '../../src/cbor/cbor-codec.ts';
import { createHttpServer, type HttpServerOptions } from '../../src/http/http-server.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { type Clock, systemClock } from '../../src/lib/time.ts';
import { type StartTimer, startSystemTimer } from '../../src/lib/timer.ts';
import { createMemoryLog } from '../../src/stream/log/memory-log.ts';
import type { LogOptions } from '../../src/stream/log/sequenced-log.ts';
import type { StreamLog } from '../../src/stream/log/stream-log.ts';
import { registerStreamRoutes } from '../../src/stream/rest/stream-routes.ts';
import {
  registerStreamSocket,
  type StreamSocket,
  type StreamSocketOptions,
} from '../../src/stream/socket/stream-socket.ts';
import { createStream, type Stream } from '../../src/stream/stream.ts';
import { tempDir } from './temp-dir.ts';

export interface StreamService {
  app: FastifyInstance;
  baseUrl: string;
  stream: Stream;
  socket: StreamSocket;
  access: Access;
  /** A token for the workgroup `acme`. If no permissions are given, it has all. */
  token(scope?: Partial<WorkgroupScope>, workgroupId?: string): Promise<string>;
  /** Sends a GET or POST and decodes the answer. Reads do not wait unless a preference is given. */
  call(path: string, options?: CallOptions): Promise<Answer>;
}

export interface CallOptions {
  method?: string;
  token?: string | undefined;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  signal?: AbortSignal;
}

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  bytes: Buffer;
  /** The decoded body. The test says which members it expects. */
  body: Record<string, unknown>;
}

type LogOpener = (options: LogOptions, workgroupId: string) => StreamLog | Promise<StreamLog>;
let openOtherLog: LogOpener = (options) => createMemoryLog({ ...options, bytesMax: 256e6 });

/** Tests after this call use these logs in place of logs in memory. */
export function serveFrom(openLog: LogOpener): void {
  openOtherLog = openLog;
}

/** The stream as a real HTTP server on a free port. Without other logs it has logs in memory. */
export async function startStreamService(
  options: Partial<HttpServerOptions> & {
    clock?: Clock;
    retentionMs?: number;
    groups?: DeviceGroups;
    openLog?: (workgroupId: string) => StreamLog | Promise<StreamLog>;
    /** The timer of held reads. Default: the one of the platform. */
    streamTimer?: StartTimer;
    /** The timer of sockets. Default: the one of the platform. */
    socketTimer?: StartTimer;
    socketLimits?: StreamSocketOptions['limits'];
    /** Adds more routes before it listens. */
    addRoutes?: (app: FastifyInstance, parts: { stream: Stream; groupsOf: Gate['groupsOf'] }) => void;
  } = {},
): Promise<StreamService> {
  const { clock = systemClock, retentionMs = 3_600_000, groups = {} } = options;
  const logger = options.logger ?? silentLogger;
  const access = await createAccess({ dataDir: tempDir(), issuer: 'wattline', clock });
  const stream = createStream({
    openLog:
      options.openLog ??
      ((workgroupId) => openOtherLog({ clock, retentionMs, cacheBytesMax: 256e6, logger }, workgroupId)),
    retentionMs,
    clock,
    startTimer: options.streamTimer ?? startSystemTimer,
    logger,
  });
  const app = createHttpServer({ requestsPerMinuteMax: 100_000, clock, access, ...options, logger });
  const groupsOf = (workgroupId: string) =>
    workgroupId === 'acme' || workgroupId === 'other' ? groups : undefined;
  registerStreamRoutes(app, { stream, access, groupsOf });
  const socket = registerStreamSocket(app, {
    stream,
    access,
    groupsOf,
    retentionMs,
    requestsPerMinuteMax: options.requestsPerMinuteMax ?? 100_000,
    clock,
    startTimer: options.socketTimer ?? startSystemTimer,
    logger,
    ...(options.socketLimits && { limits: options.socketLimits }),
  });
  options.addRoutes?.(app, { stream, groupsOf });
  await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    await stream.close();
    await app.close();
  });
  const baseUrl = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  return {
    app,
    baseUrl,
    stream,
    socket,
    access,
    async token(scope = {}, workgroupId = 'acme') {
      const permissions = scope.permissions ?? ['search:read', 'org:audit', 'data:write'];
      const issued = await access.issue({
        subject: 'test',
        scopes: { [workgroupId]: { ...scope, permissions: permissions as Array<'search:read'> } },
        lifetimeMs: 3_600_000,
      });
      return issued.token;
    },
    async call(path, { method = 'GET', token, headers = {}, body, signal } = {}) {
      const answer = await request(`${baseUrl}${path}`, {
        method: method as 'GET',
        headers: {
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(method === 'GET' && { prefer: 'wait=0' }),
          ...headers,
        },
        ...(body !== undefined && { body }),
        signal,
      });
      const bytes = Buffer.from(await answer.body.arrayBuffer());
      const type = String(answer.headers['content-type'] ?? '');
      const decoded =
        type === 'application/cbor'
          ? decodeCbor(bytes)
          : bytes.length > 0
            ? JSON.parse(bytes.toString())
            : {};
      return {
        status: answer.statusCode,
        headers: answer.headers,
        bytes,
        body: decoded as Record<string, unknown>,
      };
    },
  };
}
