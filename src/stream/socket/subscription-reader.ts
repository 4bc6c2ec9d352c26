import type { Offset } from '../../contract/offset.ts';
import { SECOND_MS } from '../../lib/time.ts';
import type { ReadCursor, Unreadable } from '../log/read-cursor.ts';
import type { LogReadOutcome, ReadFilter } from '../log/stream-log.ts';
import type { ConnectionContext } from './socket-connection.ts';
import type { FrameOutcome } from './socket-frames.ts';

/**
 * Reads the log for one subscription. It pins a cursor to an offset, because the client gets its start before
 * the first frame.
 */
interface SubscriptionReader {
  /** Finds out if the log has the position of the cursor, and reads no message. */
  look(cursor: ReadCursor): Promise<LogReadOutcome>;
  /** Reads the frame at the position of the cursor. A read that fails is tried 10 times, a second apart. */
  readFrame(cursor: ReadCursor): Promise<FrameOutcome>;
}

interface SubscriptionReaderOptions {
  source: Pick<ConnectionContext, 'log' | 'frames' | 'grant'>;
  filterNow: () => ReadFilter;
  /** The maximum number of messages of a frame. */
  limit: number;
  hasEnded: () => boolean;
  /** Waits between two attempts. It returns early if the subscription ends. */
  pause: (delayMs: number) => Promise<void>;
}

/** A read that fails is repeated up to this often. Then the client is asked to come back later. */
const READ_ATTEMPTS_MAX = 10;
const READ_AGAIN_MS = SECOND_MS;

export function createSubscriptionReader(options: SubscriptionReaderOptions): SubscriptionReader {
  const { filterNow, limit, hasEnded, pause } = options;
  const { log, frames, grant } = options.source;
  const reader = grant.tokenId;

  const pinning =
    <Batch extends { kind: 'batch' }>(
      cursor: ReadCursor,
      readAt: (offset: Offset) => Promise<Batch | Unreadable>,
    ) =>
    async (at: Offset | 'oldest') => {
      const offset = at === 'oldest' ? (await log.bounds()).earliest : at;
      const outcome = await readAt(offset);
      if (outcome.kind === 'batch') cursor.moveTo(offset);
      return outcome;
    };
  const frameAt = (offset: Offset) => frames.read({ from: offset, limit, filter: filterNow(), reader });
  const lookAt = (offset: Offset) =>
    log.read({ from: offset, limit: 1, filter: {}, bytesMax: 0, oneAtLeast: false, reader });

  return {
    look: (cursor) => cursor.read(pinning(cursor, lookAt), { mayRestart: true }),
    async readFrame(cursor) {
      for (let attempt = 1; ; attempt++) {
        try {
          return await cursor.read(pinning(cursor, frameAt), { mayRestart: false });
        } catch (error) {
          if (hasEnded() || attempt === READ_ATTEMPTS_MAX) throw error;
          await pause(READ_AGAIN_MS);
        }
      }
    },
  };
}
