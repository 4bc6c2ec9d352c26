import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { laterOffset, OFFSET_MAX, type Offset, offsetOf } from '../../contract/offset.ts';
import { limits } from '../../contract/wire-limits.ts';
import type { Clock } from '../../lib/time.ts';
import { MEBIBYTE } from '../../lib/units.ts';
import type { LogReadOutcome, ReadFilter, StreamLog } from '../log/stream-log.ts';

/**
 * The messages of one frame, joined. They must not be changed, because several subscriptions may send them.
 */
export type FrameOutcome =
  | (Omit<LogReadOutcome & { kind: 'batch' }, 'parts'> & { messages: Uint8Array })
  | Exclude<LogReadOutcome, { kind: 'batch' }>;

interface FrameRequest {
  from: Offset;
  limit: number;
  filter: ReadFilter;
  /** Who reads; see `LogReadRequest`. */
  reader?: string;
}

/** Reads a log in frames. Subscriptions at the same position share one read. */
export interface FrameSource {
  /** @throws StreamError StorageUnavailable */
  read(request: FrameRequest): Promise<FrameOutcome>;
}

interface Remembered {
  frame: Promise<FrameOutcome>;
  /** No message of the frame is older than this offset. */
  notBefore: Offset;
}

/** The largest size of a frame without its messages. */
const FRAME_HEAD_BYTES_MAX = 512;
/** Frames that are kept for subscriptions that are a little behind. */
const REMEMBERED_BYTES_MAX = 32 * MEBIBYTE;
const REMEMBERED_FRAMES_MAX = 256;
/**
 * A single part is sent from the memory of the log without a copy. It is copied if its buffer is larger than
 * this, because a slow reader would keep the whole buffer in memory.
 */
const PINNED_BYTES_MAX = 4 * MEBIBYTE;

export function createFrameSource(
  log: StreamLog,
  { clock, retentionMs }: { clock: Clock; retentionMs: number },
): FrameSource {
  /** By filter, limit and position. */
  const frames = new LRUCache<string, Remembered>({
    max: REMEMBERED_FRAMES_MAX,
    maxSize: REMEMBERED_BYTES_MAX,
  });
  /** The end of the log at the last read. */
  let newest: Offset = 0n;
  let epoch: string | undefined;

  const readNow = async (request: FrameRequest): Promise<FrameOutcome> => {
    const outcome = await log.read({
      ...request,
      bytesMax: limits.frameBytesMax - FRAME_HEAD_BYTES_MAX,
      oneAtLeast: true,
    });
    if (outcome.kind !== 'batch') return outcome;
    newest = outcome.bounds.next;
    if (epoch !== undefined && outcome.bounds.epoch !== epoch) frames.clear();
    epoch = outcome.bounds.epoch;
    const { parts, ...facts } = outcome;
    return { ...facts, messages: joined(parts) };
  };

  const readOnce = async (key: string, request: FrameRequest): Promise<FrameOutcome> => {
    const entry: Remembered = { frame: readNow(request), notBefore: OFFSET_MAX };
    // The size is set after the read, because it is not known before.
    frames.set(key, entry, { size: 1 });
    const frame = await entry.frame.catch((error: unknown) => {
      if (frames.get(key) === entry) frames.delete(key);
      throw error;
    });
    if (frames.get(key) !== entry) return frame;
    if (frame.kind !== 'batch' || frame.nextOffset === request.from) frames.delete(key);
    else {
      const notBefore = laterOffset(request.from, frame.bounds.earliest);
      const size = Math.max(1, frame.messages.buffer.byteLength);
      frames.set(key, { frame: entry.frame, notBefore }, { size });
    }
    return frame;
  };

  return {
    async read(request) {
      const { from, limit, filter } = request;
      const key = `${from} ${limit} ${filterKey(filter)}`;
      const known = frames.get(key);
      // A kept frame may have messages that are too old by now. Then the log is asked again.
      const isRetained = known && known.notBefore >= offsetOf(Math.max(0, clock.now() - retentionMs));
      const frame = await (isRetained ? known.frame : readOnce(key, request));
      if (frame.kind !== 'batch' || !frame.upToDate || frame.nextOffset >= newest) return frame;
      return { ...frame, upToDate: false };
    },
  };
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts;
  const isSmall = parts.length === 1 && first!.buffer.byteLength <= PINNED_BYTES_MAX;
  return isSmall ? first! : Buffer.concat(parts);
}

/** The key of each set of devices. Two tokens may have equal sets. */
const deviceKeys = new WeakMap<ReadonlySet<string>, string>();

function filterKey({ table, exceptTable, devices }: ReadFilter): string {
  if (devices === undefined) return JSON.stringify([table, exceptTable]);
  let key = deviceKeys.get(devices);
  if (key === undefined) {
    key = hash('sha256', [...devices].sort().join(), 'base64');
    deviceKeys.set(devices, key);
  }
  return JSON.stringify([table, exceptTable, key]);
}
