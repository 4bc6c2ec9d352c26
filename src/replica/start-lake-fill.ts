import { rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { syncPath } from '../lib/durable-files.ts';
import { errorMessage, isRetryable, TransientError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { MINUTE_MS, SECOND_MS } from '../lib/time.ts';
import { MEBIBYTE } from '../lib/units.ts';
import type { LakeFile } from '../publish/commit-schema.ts';
import { INCOMPLETE_FILE, isLakeComplete, missingFiles } from '../publish/is-lake-complete.ts';
import { fileKey, filePath, type LakePaths } from '../publish/lake-layout.ts';
import { periodBounds } from '../publish/lake-period.ts';
import { throwMissing } from '../snapshot/read-pack.ts';
import type { ObjectStore } from '../storage/object-store.ts';

interface LakeFillOptions {
  /** The store as the newest commit describes it. Commits change during the fill. */
  storeNow: () => ObjectStore;
  workgroupId: string;
  paths: LakePaths;
  /** The files of the newest local generation. They can change during the fill. */
  filesNow: () => Promise<readonly LakeFile[]>;
  /** The pause after a failure. It doubles up to a minute. Default: 1,000. */
  pauseMs?: number;
  logger: Logger;
}

/** The copy of the files of a lake from the bucket, in the background. */
interface LakeFill {
  /** How many files are missing, and why the last attempt failed. Undefined if the lake is complete. */
  state(): LakeFillState | undefined;
  /** Stops the copy. The next fill continues it. */
  stop(): Promise<void>;
}

export interface LakeFillState {
  /** Undefined until they are counted. */
  missingFiles: number | undefined;
  error: string | undefined;
}

/** Small files take the time of a request, and more at a time would slow down the work. */
const AT_A_TIME = 2;

/**
 * Copies the files that are missing in the lake after a takeover, newest periods first. Then deletes the file
 * `incomplete`. Sends no request to the bucket if the lake is complete. A file appears on the disk only when
 * it is complete, so a fill that was stopped or killed continues with the files that are missing.
 *
 * A failure is logged, and the fill tries again until it is stopped. Files that later generations do not need
 * any more are left out.
 */
export function startLakeFill(options: LakeFillOptions): LakeFill {
  const { storeNow, workgroupId, paths, filesNow, logger } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const state: LakeFillState = { missingFiles: undefined, error: undefined };
  let isComplete = isLakeComplete(paths);

  /**
   * @returns the number of copied bytes
   * @throws the failure of the first file that failed, after the other files were tried
   */
  async function copyMissing(files: readonly LakeFile[]): Promise<number> {
    const waiting = newestFirst(files).entries();
    const failures = new Map<number, unknown>();
    let bytes = 0;
    const copy = async () => {
      for (const [at, file] of waiting) {
        if (signal.aborted) return;
        const [store, key] = [storeNow(), fileKey(file)];
        try {
          if (!(await store.download(key, filePath(paths, file), file, signal))) throwMissing(store, key);
          bytes += file.bytes;
          state.missingFiles! -= 1;
        } catch (error) {
          failures.set(at, error);
          // The other files can be undamaged, so they are tried. If the store does not answer, they are not.
          if (isRetryable(error)) return;
        }
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, copy));
    signal.throwIfAborted();
    // The first in the order of the files, and not in time: the same failures are then always logged once.
    if (failures.size > 0) throw failures.get(Math.min(...failures.keys()));
    return bytes;
  }

  /** Repeats until the newest generation has all files, because it can change meanwhile. */
  async function fillOnce(): Promise<{ files: number; bytes: number }> {
    const filled = { files: 0, bytes: 0 };
    for (;;) {
      const files = missingFiles(paths, await filesNow());
      state.missingFiles = files.length;
      if (files.length === 0) break;
      await refuseSmallDisk(paths, files);
      filled.bytes += await copyMissing(files);
      filled.files += files.length;
    }
    signal.throwIfAborted();
    await rm(join(paths.root, INCOMPLETE_FILE), { force: true });
    await syncPath(paths.root);
    isComplete = true;
    return filled;
  }

  async function fill(): Promise<void> {
    const startMs = performance.now();
    let pauseMs = options.pauseMs ?? SECOND_MS;
    while (!isComplete && !signal.aborted) {
      try {
        const filled = await fillOnce();
        const durationMs = Math.round(performance.now() - startMs);
        logger.info({ workgroup: workgroupId, ...filled, durationMs }, 'lake.filled');
      } catch (error) {
        if (signal.aborted) return;
        const message = errorMessage(error);
        if (message !== state.error)
          logger.warn({ workgroup: workgroupId, error: message }, 'lake.not-filled');
        state.error = message;
        await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
        pauseMs = Math.min(2 * pauseMs, MINUTE_MS);
      }
    }
  }

  const filling = fill();
  return {
    state: () => (isComplete ? undefined : { ...state }),
    async stop() {
      stopping.abort(new Error('the workgroup is closed'));
      await filling;
    },
  };
}

/** Storing messages is more important than a local copy, so the disk is not filled. */
const FREE_BYTES_MIN = 256 * MEBIBYTE;

/** @throws TransientError `DiskFull` if the files would fill the disk */
async function refuseSmallDisk({ root }: LakePaths, files: readonly LakeFile[]): Promise<void> {
  const neededBytes = files.reduce((sum, { bytes }) => sum + bytes, FREE_BYTES_MIN);
  const { bavail, bsize } = await statfs(root);
  if (bavail * bsize >= neededBytes) return;
  const [needed, free] = [neededBytes, bavail * bsize].map((bytes) => Math.ceil(bytes / MEBIBYTE));
  throw new TransientError(
    'DiskFull',
    `${root}: the files of the lake need ${needed} MiB, and the disk has ${free} MiB free; free some space. Until then reports read the bucket`,
  );
}

/** Small datasets without a period first, then by the end of the period. */
function newestFirst(files: readonly LakeFile[]): LakeFile[] {
  const endMs = ({ period }: LakeFile) =>
    period === '' ? Number.POSITIVE_INFINITY : periodBounds(period).endMs;
  const ends = new Map(files.map((file) => [file, endMs(file)]));
  return files.toSorted((a, b) => {
    const [one, other] = [ends.get(a)!, ends.get(b)!];
    return one === other ? 0 : other - one;
  });
}
