import { StreamError, unavailable } from '../contract/stream-errors.ts';
import { TransientError } from '../lib/errors.ts';
import { createFairThreads } from '../lib/fair-threads.ts';
import { siblingModule } from '../lib/sibling-module.ts';
import type { UtcMs } from '../lib/time.ts';
import { readText, type TextFormat, type UploadRequest } from './read-upload.ts';
import { type LineProblem, RefusedFile } from './refusals.ts';
import { stageUpload } from './stage-upload.ts';

export interface BodyRequest {
  bytes: Uint8Array;
  format: TextFormat;
  upload: UploadRequest;
  /** The data folder in which the upload is staged; undefined if it is only checked. */
  dataDir: string | undefined;
  nowMs: UtcMs;
}

export type BodyAnswer =
  | { kind: 'read'; rows: number /** The staged file, which the caller removes. */; path: string | undefined }
  | { kind: 'refused'; name: string; problems: readonly LineProblem[]; count: number }
  | { kind: 'not-staged'; code: string; message: string };

/** Reads bodies of uploads without blocking the event loop: small ones at once, large ones in a thread. */
interface BodyReader {
  /**
   * @param owner the owner of the body; each owner has at most one body in the threads
   * @throws StreamError StorageUnavailable if too many bodies of the owner wait
   * @throws RefusedFile with all problems, TransientError if the upload cannot be staged
   */
  read(request: BodyRequest, owner: string): Promise<{ rows: number; path: string | undefined }>;
  close(): Promise<void>;
}

/** Any body up to this size takes some milliseconds. */
const READ_HERE_BYTES_MAX = 16 * 1024;
const THREADS_MAX = 2;
/** They are kept in memory. */
const BODIES_WAITING_MAX = 16;
const AGAIN_SECONDS = 2;

export function createBodyReader(): BodyReader {
  const threads = createFairThreads<BodyRequest, BodyAnswer>({
    module: siblingModule('read-thread', import.meta.url),
    threadsMax: THREADS_MAX,
    closedError: () => new StreamError('Draining', 'the service is shutting down'),
  });
  return {
    async read(request, owner) {
      if (threads.waiting(owner) >= BODIES_WAITING_MAX)
        throw unavailable(
          `${BODIES_WAITING_MAX} uploads of this workgroup already wait, so nothing was stored; send this one again in a moment`,
          AGAIN_SECONDS,
        );
      const isSmall = request.bytes.length <= READ_HERE_BYTES_MAX;
      const answer = isSmall ? readBody(request) : await threads.run(request, owner);
      if (answer.kind === 'refused') throw new RefusedFile(answer.name, answer.problems, answer.count);
      if (answer.kind === 'not-staged') throw new TransientError(answer.code, answer.message);
      return answer;
    },
    close: threads.close,
  };
}

/** Reads a body and stages it. */
export function readBody({ bytes, format, upload, dataDir, nowMs }: BodyRequest): BodyAnswer {
  try {
    const read = readText(bytes, format, upload);
    const staged = dataDir === undefined ? undefined : stageUpload(dataDir, read, { now: () => nowMs });
    return { kind: 'read', rows: read.rows.length, path: staged?.path };
  } catch (error) {
    if (error instanceof RefusedFile)
      return { kind: 'refused', name: upload.name, problems: error.lines, count: error.count };
    if (error instanceof TransientError)
      return { kind: 'not-staged', code: error.code, message: error.message };
    throw error;
  }
}
