import { TransientError } from '../lib/errors.ts';
import { SECOND_MS } from '../lib/time.ts';

/** An interrupt that falls between two statements is not heard, so it is said again. */
const AGAIN_MS = 100;

/**
 * Runs statements on a connection for no longer than they may hold up what else the database does.
 * @throws TransientError TooLong once they have been stopped
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
    again = setTimeout(interrupt, AGAIN_MS);
  };
  again = setTimeout(interrupt, msMax);
  try {
    return await work();
  } catch (error) {
    if (!isLate) throw error;
    const message = `it was stopped after ${msMax / SECOND_MS} s, so that landing is not held up; ask again when less is going on`;
    throw new TransientError('TooLong', message, { cause: error });
  } finally {
    clearTimeout(again);
  }
}
