import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import PQueue from 'p-queue';
import { bearerToken } from '../access/bearer.ts';
import { TerminalError, TransientError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { toPlainError } from '../lib/plain-error.ts';
import { SECOND_MS } from '../lib/time.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { askable, isAskable } from '../pipeline/remote-operations.ts';
import {
  type ControlFile,
  removeControlFile,
  removeWorkerFile,
  writeControlFile,
  writeWorkerFile,
} from './rpc-file.ts';
import { CONTROL_HEADER, CONTROL_HOST, HIBERNATED, PING, tell, WAKE_HEADER } from './rpc-wire.ts';

/** Lets other processes on this machine call operations on the workgroups that this process owns. */
export interface ControlServer {
  /** Starts to answer for the workgroups that hibernate, and writes the address file of this worker. */
  listen(): Promise<void>;
  /** Starts to answer for a workgroup, and writes its address file. */
  open(workgroupId: string): Promise<void>;
  /** Stops answering. Does nothing for a workgroup that is not open. */
  close(workgroupId: string): void;
  /** Closes all workgroups after the current answers. */
  end(): Promise<void>;
}

export interface ControlServerOptions {
  dataDir: string;
  /** Opens a workgroup that hibernates when it is called. */
  pipeline: Pick<Pipeline, 'run'>;
  /** True if a workgroup that is not open here hibernates, so that it can be opened. Default: never. */
  canWake?: (workgroupId: string) => Promise<boolean>;
  logger: Logger;
}

const BODY_BYTES_MAX = 1024 * 1024;
const CONNECTIONS_MAX = 64;
const UNDER_WAY_MAX = 16;
/** A caller waits a minute, so more cannot be answered in time. */
const EXPLAINS_WAITING_MAX = 2;

/** The server listens on this machine only, on a free port, from the first opened workgroup on. */
export function createControlServer(options: ControlServerOptions): ControlServer {
  const { dataDir, logger } = options;
  const files = new Map<string, ControlFile>();
  // One queue for all workgroups, because explaining needs the processors and the memory of landing.
  const explains = new PQueue({ concurrency: 1 });
  let underWay = 0;
  let workerFile: ControlFile | undefined;
  let listening: Promise<Server> | undefined;

  async function startServer(): Promise<Server> {
    const server = createServer(
      {
        requestTimeout: 10 * SECOND_MS,
        headersTimeout: 5 * SECOND_MS,
        connectionsCheckingInterval: SECOND_MS,
      },
      (request, response) => void answer(request, response),
    );
    server.maxConnections = CONNECTIONS_MAX;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(0, CONTROL_HOST, resolve);
    });
    return server;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader(CONTROL_HEADER, '1');
    const [workgroupId = '', operation = ''] = (request.url ?? '').slice(1).split('/');
    const secret = bearerToken(request.headers.authorization);
    const file = files.get(workgroupId);
    const isOpen = file !== undefined && isSame(secret, file.secret);
    if (request.method !== 'POST' || !(isOpen || (await mayWake(workgroupId, secret))))
      return send(response, 401, {});
    if (!isOpen && operation !== PING && request.headers[WAKE_HEADER] === 'no')
      return send(response, 409, { error: HIBERNATED });
    try {
      const asker = new AbortController();
      response.once('close', () => asker.abort());
      const result = await run(workgroupId, operation, request, asker.signal);
      send(response, 200, { result });
    } catch (error) {
      const plain = toPlainError(error);
      logger.debug({ workgroup: workgroupId, operation, code: plain.code }, 'control.failed');
      send(response, 422, { error: plain });
    }
  }

  async function mayWake(workgroupId: string, secret: string | undefined): Promise<boolean> {
    if (workerFile === undefined || !isSame(secret, workerFile.secret)) return false;
    return files.has(workgroupId) || ((await options.canWake?.(workgroupId)) ?? false);
  }

  async function portOf(): Promise<number> {
    listening ??= startServer().catch((error: unknown) => {
      listening = undefined;
      throw error;
    });
    return ((await listening).address() as AddressInfo).port;
  }

  function newFile(port: number): ControlFile {
    return { port, secret: randomBytes(32).toString('base64url'), pid: process.pid };
  }

  async function run(
    workgroupId: string,
    operation: string,
    request: IncomingMessage,
    asker: AbortSignal,
  ): Promise<unknown> {
    if (operation === PING) return undefined;
    if (!isAskable(operation)) {
      throw new TerminalError(
        'UnknownOperation',
        'the process that has the warehouse open does not have this operation; it may have another version',
      );
    }
    if (underWay >= UNDER_WAY_MAX) throw busy();
    underWay += 1;
    try {
      const args = askable[operation].safeParse((await readBody(request)).args);
      if (!args.success) {
        const problems = args.error.issues
          .map(({ path, message }) => `${path.join('.')}: ${message}`)
          .join('; ');
        throw new TerminalError('InvalidArguments', `the arguments of ${operation} are wrong: ${problems}`);
      }
      const work = () => options.pipeline.run(workgroupId, operation, args.data);
      if (operation !== 'explain') return await work();
      if (explains.size >= EXPLAINS_WAITING_MAX) throw busy();
      // A waiting request is dropped if its caller has disconnected.
      return await explains.add(work, { signal: asker });
    } finally {
      underWay -= 1;
    }
  }

  function close(workgroupId: string): void {
    const file = files.get(workgroupId);
    if (!file) return;
    files.delete(workgroupId);
    removeControlFile(dataDir, workgroupId, file);
  }

  return {
    async listen() {
      workerFile = newFile(await portOf());
      writeWorkerFile(dataDir, workerFile);
    },
    async open(workgroupId) {
      const file = newFile(await portOf());
      files.set(workgroupId, file);
      writeControlFile(dataDir, workgroupId, file);
    },
    close,
    async end() {
      if (workerFile) removeWorkerFile(dataDir, workerFile);
      for (const workgroupId of [...files.keys()]) close(workgroupId);
      const server = await listening?.catch(() => undefined);
      if (server) await new Promise((resolve) => server.close(resolve));
    },
  };
}

function busy(): TransientError {
  return new TransientError('Busy', 'the process that has the warehouse open is busy; try again');
}

/** Compares in constant time. */
function isSame(given: string | undefined, secret: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given ?? ''), digest(secret));
}

async function readBody(request: IncomingMessage): Promise<{ args?: unknown }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) throw new TerminalError('TooLarge', 'the arguments are larger than 1 MiB');
    chunks.push(chunk);
  }
  try {
    return Object(JSON.parse(Buffer.concat(chunks).toString()));
  } catch {
    throw new TerminalError('InvalidArguments', 'the arguments are not JSON');
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  const text = tell(body);
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    Connection: 'close',
  });
  response.end(text);
}
