import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { laterOffset, OFFSET_MAX, type Offset, offsetOf } from '../../contract/offset.ts';
import { limits } from '../../contract/wire-limits.ts';
import type { Clock } from '../../lib/time.ts';
import type { LogReadOutcome, ReadFilter, StreamLog } from '../log/stream-log.ts';

/** What a subscription reads at once: the messages of one frame, joined. Never to be changed: others may send them too. */
export type FrameOutcome =
  | (Omit<LogReadOutcome & { kind: 'batch' }, 'parts'> & { messages: Uint8Array })
  | Exclude<LogReadOutcome, { kind: 'batch' }>;

export interface FrameRequest {
  from: Offset;
  limit: number;
  filter: ReadFilter;
}

/** Reads of one log in frames, each read once for all subscriptions that stand at the same position. */
export interface FrameSource {
  /** @throws StreamError StorageUnavailable */
  read(request: FrameRequest): Promise<FrameOutcome>;
}

interface Remembered {
  frame: Promise<FrameOutcome>;
  /** None of its messages is older than this, as far as is known. */
  notBefore: Offset;
}

/** Bytes that a frame has beside its messages, at most. */
const FRAME_HEAD_BYTES_MAX = 512;
/** What is remembered of a log for subscriptions that are a little behind the first one. */
const REMEMBERED_BYTES_MAX = 32 * 1024 * 1024;
const REMEMBERED_FRAMES_MAX = 256;
/** Messages in one piece are sent as they lie in the log's memory, unless a slow reader would keep more than this alive. */
const PINNED_BYTES_MAX = 4 * 1024 * 1024;

export function createFrameSource(
  log: StreamLog,
  { clock, retentionMs }: { clock: Clock; retentionMs: number },
): FrameSource {
  /** By filter, limit and position. */
  const frames = new LRUCache<string, Remembered>({
    max: REMEMBERED_FRAMES_MAX,
    maxSize: REMEMBERED_BYTES_MAX,
  });
  /** The tail, as the last read saw it. */
  let newest: Offset = 0n;
  let epoch: string | undefined;

  const readNow = async ({ from, limit, filter }: FrameRequest): Promise<FrameOutcome> => {
    const outcome = await log.read({
      from,
      limit,
      filter,
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
    // Its bytes are known once it was read.
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
      // Only the log knows what is gone of messages that are too old.
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

/** Sets of devices belong to grants; those of two tokens may hold the same devices. */
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
