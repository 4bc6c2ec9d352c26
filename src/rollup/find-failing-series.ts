import { errorMessage, TerminalError, TransientError } from '../lib/errors.ts';
import type { SeriesKey } from './set-aside.ts';

/** A series that makes the roll-up fail, and the error. */
interface FailingSeries {
  key: SeriesKey;
  error: unknown;
}

/**
 * Rolls up some of the touched series only, and rolls the transaction back.
 * @returns the error; undefined if it succeeded
 */
type Trial = (included: readonly SeriesKey[]) => Promise<unknown>;

/**
 * Finds the failing series by trials. The shortest beginning of the list that fails ends with a failing
 * series, even if two fail only together. That one is removed, and the rest is tried again, until it
 * succeeds. Each of n failing series takes about log2(list length) trials.
 * @param series series that have just failed together; the roll-up without them does not fail
 * @returns the series, each of which failed twice; empty if no roll-up fails now
 */
export async function findFailingSeries(
  series: readonly SeriesKey[],
  trial: Trial,
): Promise<FailingSeries[]> {
  const failing: FailingSeries[] = [];
  let rest = series;
  /** This many series at the beginning succeed together. */
  let passing = 0;
  let isKnown = true;
  while (rest.length > 0 && (isKnown || (await trial(rest)) !== undefined)) {
    isKnown = false;
    let shortest = rest.length;
    while (shortest - passing > 1) {
      const middle = Math.floor((passing + shortest) / 2);
      if ((await trial(rest.slice(0, middle))) === undefined) passing = middle;
      else shortest = middle;
    }
    const error = await trial(rest.slice(0, shortest));
    // If the second trial succeeds, the failure was not caused by the series.
    if (error === undefined) continue;
    passing = shortest - 1;
    failing.push({ key: rest[passing]!, error });
    rest = rest.toSpliced(passing, 1);
  }
  return failing;
}

/**
 * True if an error can come from the data. Known errors do not: another owner, the disk, memory, a damaged
 * file, a stop.
 */
export function mayComeFromData(error: unknown): boolean {
  if (error instanceof TransientError || error instanceof TerminalError) return false;
  return !errorMessage(error).startsWith('INTERRUPT Error');
}

/**
 * Describes an error for people: its kind and the statement. The text of the database is left out, because it
 * contains values.
 */
export function describeFailure(error: unknown): string {
  const statement = error instanceof Error && 'statement' in error ? ` (in ${error.statement})` : '';
  return `${kindOf(errorMessage(error))}${statement}`;
}

function kindOf(text: string): string {
  if (/out of range|overflow/i.test(text)) return 'a number is beyond what can be computed';
  if (/constraint|duplicate/i.test(text)) return 'stored rows contradict each other';
  if (/^(INTERNAL|FATAL) Error/.test(text)) return 'the database failed';
  if (/^(Conversion|Invalid Input) Error/.test(text)) return 'a value cannot be read';
  return 'the computation failed';
}
