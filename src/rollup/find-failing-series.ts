import { errorMessage, TerminalError, TransientError } from '../lib/errors.ts';
import type { SeriesKey } from './set-aside.ts';

/** A series with which the roll-up fails, and why. */
export interface FailingSeries {
  key: SeriesKey;
  error: unknown;
}

/** Rolls up and takes it back, with some of the touched series only. @returns what it threw; undefined where it went well */
export type Trial = (included: readonly SeriesKey[]) => Promise<unknown>;

/**
 * Finds the series with which the roll-up fails, by trial. The smallest part of the list that fails, counted from its beginning, ends with one
 * of them: also where two fail only together. That one is taken out, and the rest is tried, until it goes well. Of n series each that fails
 * takes about log2(n) trials.
 * @returns them, each found to fail twice; none where nothing fails any more
 */
export async function findFailingSeries(
  series: readonly SeriesKey[],
  trial: Trial,
): Promise<FailingSeries[]> {
  const failing: FailingSeries[] = [];
  let rest = series;
  /** So many of the first go well together. */
  let passing = 0;
  while ((await trial(rest)) !== undefined) {
    let shortest = rest.length;
    while (shortest - passing > 1) {
      const middle = Math.floor((passing + shortest) / 2);
      if ((await trial(rest.slice(0, middle))) === undefined) passing = middle;
      else shortest = middle;
    }
    const error = await trial(rest.slice(0, shortest));
    // What fails once and then goes well is of the moment, and not of the series.
    if (error === undefined) continue;
    passing = shortest - 1;
    failing.push({ key: rest[passing]!, error });
    rest = rest.toSpliced(passing, 1);
  }
  return failing;
}

/** Whether a failure may come of the data: what is known (another owner, the disk, memory, a damaged file, a stop) does not. */
export function mayComeFromData(error: unknown): boolean {
  if (error instanceof TransientError || error instanceof TerminalError) return false;
  return !/^INTERRUPT Error/.test(errorMessage(error));
}

/** What failed, for people: the statement, and the kind of the failure. The database's own words hold values, so they are left out. */
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
