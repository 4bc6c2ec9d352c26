import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from '../lib/logger.ts';
import { machineName } from '../lib/machine-name.ts';
import { openOnce } from '../lib/open-once.ts';
import { toPlainError } from '../lib/plain-error.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import {
  type ControlFile,
  removeControlFile,
  removeWorkerFile,
  writeControlFile,
  writeWorkerFile,
} from './control-file.ts';
import { forgetEndedWorkers } from './local-workers.ts';
import { hasSecret, listenLocally, readRpcBody, sendRpc } from './rpc-http.ts';
import { HIBERNATED, PING, WAKE_HEADER } from './rpc-wire.ts';
import { createAskableRunner } from './run-askable.ts';

/** Lets other processes on this machine call operations on the workgroups that this process owns. */
interface ControlServer {
  /** Starts to answer for the workgroups that hibernate, and writes the address file of this worker. */
  listen(): Promise<void>;
  /** Starts to answer for a workgroup, and writes its address file. */
  open(workgroupId: string): Promise<void>;
  /** True between `open` and `close`. */
  isOpen(workgroupId: string): boolean;
  /** Stops answering. Does nothing for a workgroup that is not open. */
  close(workgroupId: string): void;
  /** Closes all workgroups after the current answers. */
  end(): Promise<void>;
}

interface ControlServerOptions {
  dataDir: string;
  /** Opens a workgroup that hibernates when it is called. */
  pipeline: Pick<Pipeline, 'run'>;
  /** True if a workgroup that is not open here hibernates, so that it can be opened. Default: never. */
  canWake?: (workgroupId: string) => Promise<boolean>;
  logger: Logger;
}

/** The server listens on this machine only, on a free port, from the first opened workgroup on. */
export function createControlServer(options: ControlServerOptions): ControlServer {
  const { dataDir, logger } = options;
  const files = new Map<string, ControlFile>();
  const run = createAskableRunner(options.pipeline);
  let workerFile: ControlFile | undefined;
  const server = openOnce(() => listenLocally((request, response) => void answer(request, response)));

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [workgroupId = '', operation = ''] = (request.url ?? '').slice(1).split('/');
    const file = files.get(workgroupId);
    const isOpen = file !== undefined && hasSecret(request, file.secret);
    if (request.method !== 'POST' || !(isOpen || (await mayWake(workgroupId, request))))
      return sendRpc(response, 401, {});
    if (!isOpen && !file && request.headers[WAKE_HEADER] === 'no')
      return sendRpc(response, 409, { error: HIBERNATED });
    try {
      const asker = new AbortController();
      response.once('close', () => asker.abort());
      const readArgs = async () => (await readRpcBody(request)).args;
      const result =
        operation === PING ? undefined : await run(workgroupId, operation, readArgs, asker.signal);
      sendRpc(response, 200, { result });
    } catch (error) {
      const plain = toPlainError(error);
      logger.debug({ workgroup: workgroupId, operation, code: plain.code }, 'control.failed');
      sendRpc(response, 422, { error: plain });
    }
  }

  async function mayWake(workgroupId: string, request: IncomingMessage): Promise<boolean> {
    if (workerFile === undefined || !hasSecret(request, workerFile.secret)) return false;
    return files.has(workgroupId) || ((await options.canWake?.(workgroupId)) ?? false);
  }

  async function newFile(): Promise<ControlFile> {
    const { port } = (await server.get()).address() as AddressInfo;
    return { port, secret: randomBytes(32).toString('base64url'), pid: process.pid, machine: machineName() };
  }

  function close(workgroupId: string): void {
    const file = files.get(workgroupId);
    if (!file) return;
    files.delete(workgroupId);
    removeControlFile(dataDir, workgroupId, file);
  }

  return {
    async listen() {
      workerFile = await newFile();
      forgetEndedWorkers(dataDir);
      writeWorkerFile(dataDir, workerFile);
    },
    async open(workgroupId) {
      const file = await newFile();
      files.set(workgroupId, file);
      writeControlFile(dataDir, workgroupId, file);
    },
    isOpen: (workgroupId) => files.has(workgroupId),
    close,
    async end() {
      if (workerFile) removeWorkerFile(dataDir, workerFile);
      for (const workgroupId of [...files.keys()]) close(workgroupId);
      const listening = await server.ifOpened();
      if (listening) await new Promise((resolve) => listening.close(resolve));
    },
  };
}
