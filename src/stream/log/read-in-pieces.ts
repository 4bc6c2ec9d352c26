import { createScanBound } from './read-chunks.ts';
import type { ReadTurns } from './read-turns.ts';
import type { LogReadOutcome, LogReadRequest } from './stream-log.ts';

type Batch = LogReadOutcome & { kind: 'batch' };

/**
 * Reads the same as one call of `readPiece`, and lets other work run between pieces, because a read may look
 * through much of the log. It also reads messages that are stored meanwhile. If the log loses the next
 * messages meanwhile, it returns the messages before them.
 */
export async function readInPieces(
  request: LogReadRequest,
  turns: ReadTurns,
  readPiece: (request: LogReadRequest) => Promise<LogReadOutcome>,
): Promise<LogReadOutcome> {
  const { reader = '', signal } = request;
  const isWithinBound = createScanBound();
  let isPaused = false;
  const mayContinue = (messages: number, bytes: number) => {
    const isWithin = isWithinBound(messages, bytes) && !signal?.aborted;
    isPaused = isWithin && turns.isOver();
    return isWithin && !isPaused;
  };
  let left: LogReadRequest = { ...request, mayContinue };
  let read: Batch | undefined;
  for (;;) {
    isPaused = false;
    const piece = await turns.run(reader, read !== undefined, () => readPiece(left));
    if (piece.kind !== 'batch' || (read !== undefined && piece.bounds.epoch !== read.bounds.epoch))
      return read ?? piece;
    read = read === undefined ? piece : join(read, piece);
    if (!isPaused || read.full || read.upToDate) return read;
    left = {
      ...left,
      from: read.nextOffset,
      limit: request.limit - read.count,
      bytesMax: request.bytesMax - read.bytes,
      oneAtLeast: request.oneAtLeast && read.count === 0,
    };
  }
}

function join(read: Batch, piece: Batch): Batch {
  return {
    ...piece,
    parts: [...read.parts, ...piece.parts],
    count: read.count + piece.count,
    bytes: read.bytes + piece.bytes,
    // The first piece may have messages that can no longer be read now. So `earliest` is that of the first
    // piece.
    bounds: { ...piece.bounds, earliest: read.bounds.earliest },
  };
}
