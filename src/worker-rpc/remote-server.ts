import { rm } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { bearerToken } from '../access/bearer-token.ts';
import type { CheckedCall, ProcessTokens } from '../access/process-token.ts';
import { errorMessage, TerminalError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { createServer } from '../lib/node-http.ts';
import { toPlainError } from '../lib/plain-error.ts';
import { type Clock, MINUTE_MS, SECOND_MS } from '../lib/time.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { isAskable } from '../pipeline/remote-operations.ts';
import { readStatus } from '../pipeline/workgroup-status.ts';
import { receiveBody, removeOldFiles } from './receive-body.ts';
import { FILE_OPERATIONS, NOT_HERE } from './remote-wire.ts';
import { sendRpc } from './rpc-http.ts';
import { CONTROL_HEADER, HIBERNATED, PING, WAKE_HEADER } from './rpc-wire.ts';
import { createAskableRunner } from './run-askable.ts';

/** Answers calls of processes on other machines. */
interface RemoteServer {
  readonly port: number;
  /** Stops after the current answers. */
  end(): Promise<void>;
}

export interface RemoteServerOptions {
  /** The address to listen on. The other machines must reach it. */
  host: string;
  /** 0: a free port. */
  port: number;
  workerId: string;
  dataDir: string;
  tokens: Pick<ProcessTokens, 'check'>;
  /** Opens a workgroup that hibernates when it is called. */
  pipeline: Pick<Pipeline, 'run'>;
  /** True if this worker has the workgroup open. */
  hasOpen: (workgroupId: string) => boolean;
  /** True if a workgroup that is not open here can be opened here. */
  canWake: (workgroupId: string) => Promise<boolean>;
  clock: Clock;
  logger: Logger;
}

const CONNECTIONS_MAX = 256;
/** A connection without a request is closed after this time. */
const SILENT_MS = 5 * SECOND_MS;
/** A caller that takes nothing of an answer for this long is disconnected. */
const SLOW_READER_MS = 30 * SECOND_MS;

/** @throws TerminalError if the address cannot be used */
export async function startRemoteServer(options: RemoteServerOptions): Promise<RemoteServer> {
  const { workerId, dataDir, tokens, hasOpen, canWake, clock, logger } = options;
  const run = createAskableRunner(options.pipeline);
  const isFirstUse = rememberTokens(clock);
  const uploads = join(dataDir, 'uploads');
  await removeOldFiles(uploads, clock);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [workgroupId = '', operation = ''] = (request.url ?? '').slice(1).split('/');
    const checked = await tokens.check(bearerToken(request.headers.authorization));
    const isFor =
      checked.kind === 'valid' &&
      checked.call.workgroupId === workgroupId &&
      checked.call.operation === operation;
    if (request.method !== 'POST' || !isFor) return sendRpc(response, 401, { error: refusal(checked) });
    if (checked.call.receiver !== workerId) return sendRpc(response, 421, { error: NOT_HERE });
    if (!isFirstUse(checked)) return sendRpc(response, 401, { error: refusal(checked) });
    if (!hasOpen(workgroupId)) {
      if (!(await canWake(workgroupId))) return sendRpc(response, 421, { error: NOT_HERE });
      if (operation !== PING && request.headers[WAKE_HEADER] === 'no')
        return sendRpc(response, 409, { error: HIBERNATED });
    }
    if (operation === PING)
      return sendRpc(response, 200, { result: readStatus(dataDir, workgroupId) ?? null });
    let path: string | undefined;
    const asker = new AbortController();
    response.once('close', () => asker.abort());
    const readArgs = async () => {
      response.writeContinue();
      const received = await receiveBody(request, checked.call, uploads);
      path = received.path;
      return withSentFile(operation, received);
    };
    try {
      const result = await run(workgroupId, operation, readArgs, asker.signal).finally(
        () => path && rm(path, { force: true }),
      );
      sendRpc(response, 200, { result });
    } catch (error) {
      const plain = toPlainError(error);
      logger.debug({ workgroup: workgroupId, operation, code: plain.code }, 'remote-call.failed');
      sendRpc(response, 422, { error: plain });
    }
  }

  const handle = (request: IncomingMessage, response: ServerResponse) => {
    request.socket.setTimeout(0);
    response.setHeader(CONTROL_HEADER, '1');
    response.once('prefinish', () =>
      request.socket.setTimeout(SLOW_READER_MS, () => request.socket.destroy()),
    );
    answer(request, response).catch((error: unknown) => {
      logger.warn({ error: errorMessage(error) }, 'remote-call.broken');
      response.destroy();
    });
  };
  const server = createServer(
    { requestTimeout: 2 * MINUTE_MS, headersTimeout: 5 * SECOND_MS, connectionsCheckingInterval: SECOND_MS },
    handle,
  );
  // Callers send the arguments after the call was accepted.
  server.on('checkContinue', handle);
  server.maxConnections = CONNECTIONS_MAX;
  // The time-outs of the server begin with the first byte.
  server.on('connection', (socket) => socket.setTimeout(SILENT_MS, () => socket.destroy()));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port, options.host, resolve);
  }).catch((error: unknown) => {
    throw new TerminalError(
      'CannotListen',
      `the worker cannot listen on port ${options.port} of ${options.host} (${errorMessage(error)}); change worker.host or worker.port`,
      { cause: error },
    );
  });
  return {
    port: (server.address() as AddressInfo).port,
    end: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/**
 * The path of the received file replaces the path that the caller sent. A path of the caller's machine is
 * never opened here.
 */
function withSentFile(operation: string, { args, path }: { args: unknown; path?: string }): unknown {
  const needsFile = isAskable(operation) && FILE_OPERATIONS[operation] === 'sent';
  if (needsFile !== (path !== undefined))
    throw new TerminalError('InvalidArguments', `${operation} was sent ${path ? 'with' : 'without'} a file`);
  return path ? { ...Object(args), path } : args;
}

/** Returns a function that is true for the first use of a token. Expired tokens are forgotten. */
function rememberTokens(clock: Clock): (call: Extract<CheckedCall, { kind: 'valid' }>) => boolean {
  const used = new Map<string, number>();
  return ({ tokenId, expiresAtMs }) => {
    for (const [id, untilMs] of used) {
      if (untilMs > clock.now()) break;
      used.delete(id);
    }
    if (used.has(tokenId)) return false;
    used.set(tokenId, expiresAtMs);
    return true;
  };
}

function refusal({ kind }: CheckedCall): { code: string; message: string } {
  return kind === 'expired'
    ? {
        code: 'CallExpired',
        message:
          'the call came too late, or the clocks of the machines differ by more than 20 s; set them by NTP',
      }
    : {
        code: 'CallRefused',
        message:
          'the token of the call is not valid here; all processes need the same access.jwksFile and access.issuer',
      };
}
