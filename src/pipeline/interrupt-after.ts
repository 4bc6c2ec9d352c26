import { TransientError } from '../lib/errors.ts';
import { SECOND_MS } from '../lib/time.ts';

/** An interrupt between two statements has no effect, so it is repeated. */
const INTERRUPT_EVERY_MS = 100;

/**
 * Runs statements on a connection for at most `msMax`, so that they do not block other work of the database.
 * @throws TransientError TooLong after that
 */
export async function interruptAfter<Result>(
  connection: { interrupt(): void },
  msMax: number,
  work: () => Promise<Result>,
): Promise<Result> {
  let isLate = false;
  let again: NodeJS.Timeout | undefined;
  const interrupt = () => {
    isLate = true;
    connection.interrupt();
    again = setTimeout(interrupt, INTERRUPT_EVERY_MS);
  };
  again = setTimeout(interrupt, msMax);
  try {
    return await work();
  } catch (error) {
    if (!isLate) throw error;
    const message = `it was stopped after ${msMax / SECOND_MS} s, so that landing is not blocked; try again later`;
    throw new TransientError('TooLong', message, { cause: error });
  } finally {
    clearTimeout(again);
  }
}
