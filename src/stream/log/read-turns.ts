/**
 * Shares the event loop between the reads of this process and everything else that it does. In each turn of
 * the event loop, reads run for a few milliseconds in all. If a read waits, at least one piece of it runs.
 * Readers take turns, and the reads of one reader run one after another.
 */
export interface ReadTurns {
  /**
   * Runs a piece of a read: at once if there is time left in this turn of the event loop and no piece waits,
   * otherwise later.
   * @param reader the name of the reader
   * @param isBegun true for a later piece of a read. It comes before other reads of its reader
   */
  run<Result>(reader: string, isBegun: boolean, piece: () => Promise<Result>): Promise<Result>;
  /** True if the time for reads in this turn of the event loop is over, so that a piece has to end. */
  isOver(): boolean;
}

/**
 * The time for reads in one turn of the event loop. It is short, because other requests need several turns,
 * and reads may make each of them longer by this time.
 */
const READ_MS_PER_TURN = 2;

/** @param msPerTurn the time for reads in each turn of the event loop, in milliseconds */
export function createReadTurns(msPerTurn = READ_MS_PER_TURN): ReadTurns {
  /**
   * The pieces that wait, by reader. The first reader is the next one. As long as a piece waits, a next turn
   * is scheduled.
   */
  const waiting = new Map<string, Array<() => void>>();
  /** When the reads of this turn of the event loop must stop. Undefined if none has run in it. */
  let endsAtMs: number | undefined;

  const begin = () => {
    endsAtMs = performance.now() + msPerTurn;
    setImmediate(() => {
      endsAtMs = undefined;
      if (waiting.size > 0) begin();
      runNext();
    });
  };
  const isOver = () => {
    if (endsAtMs === undefined) begin();
    return performance.now() >= endsAtMs!;
  };
  const runNext = () => {
    const [first] = waiting;
    if (first === undefined) return;
    const [reader, [piece, ...others]] = first;
    waiting.delete(reader);
    if (others.length > 0) waiting.set(reader, others);
    piece!();
  };
  const wait = (reader: string, isBegun: boolean) =>
    new Promise<void>((resolve) => {
      const others = waiting.get(reader) ?? [];
      waiting.set(reader, isBegun ? [resolve, ...others] : [...others, resolve]);
    });

  return {
    async run(reader, isBegun, piece) {
      if (waiting.size > 0 || isOver()) await wait(reader, isBegun);
      try {
        return await piece();
      } finally {
        if (waiting.size > 0 && !isOver()) runNext();
      }
    },
    isOver,
  };
}

/** The turns of this process, because all its reads run in one event loop. */
export const readTurns = createReadTurns();
