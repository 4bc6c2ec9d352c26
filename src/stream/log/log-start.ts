import { laterOffset, type Offset, offsetOf } from '../../contract/offset.ts';
import type { ChunkSpan } from './chunk.ts';
import type { RetentionFloor } from './retention-floor.ts';
import type { LogBounds } from './stream-log.ts';

/**
 * Where a log begins for its readers: messages before it were trimmed, or are too old. A message that was too
 * old once stays hidden, even if the clock is set back later.
 */
export function createLogStart(retention: RetentionFloor) {
  let start: Offset = 0n;
  return {
    /** No message before this offset can be read. 0 if none is known to be gone. */
    get offset() {
      return start;
    },
    noteGone(through: Offset | undefined) {
      if (through !== undefined) start = laterOffset(start, through + 1n);
    },
    /** To be called when the log is another one than before. */
    reset() {
      start = 0n;
    },
    /** The first offset that is not gone and, by the clock, not too old. */
    floorNow: (): Offset => laterOffset(start, offsetOf(retention.floorMs())),
    /** The bounds of a log if `oldest` is its first chunk that reaches the floor. */
    boundsFrom(floor: Offset, oldest: ChunkSpan, next: Offset, epoch: string): LogBounds {
      if (floor <= oldest.firstOffset) return { earliest: oldest.firstOffset, next, epoch };
      start = floor;
      return { earliest: floor, next, epoch };
    },
  };
}
