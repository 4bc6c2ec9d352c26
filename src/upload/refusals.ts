import { clipText } from '../lib/clip-text.ts';
import { InputError } from '../lib/errors.ts';
import { formatCount } from '../lib/format-count.ts';

/** A problem in a line of a file, with what to do. */
export interface LineProblem {
  /** From 1. For Parquet and JSON the number of the row. 0 for the whole file. */
  line: number;
  column?: string | undefined;
  message: string;
}

/** Problems that are shown. Further ones are counted. */
export const PROBLEMS_SHOWN_MAX = 100;

/** Collects all problems of a file. */
export interface Refusals {
  add(line: number, column: string | undefined, message: string): void;
  readonly count: number;
  /** The first ones, by line. */
  readonly shown: readonly LineProblem[];
}

export function createRefusals(): Refusals {
  const firstRefusals: LineProblem[] = [];
  let count = 0;
  return {
    add(line, column, message) {
      count += 1;
      firstRefusals.push({ line, column: column && clipText(column), message });
      if (firstRefusals.length < 10 * PROBLEMS_SHOWN_MAX) return;
      firstRefusals.sort(byLine).splice(PROBLEMS_SHOWN_MAX);
    },
    get count() {
      return count;
    },
    get shown() {
      return firstRefusals.toSorted(byLine).slice(0, PROBLEMS_SHOWN_MAX);
    },
  };
}

function byLine(one: LineProblem, other: LineProblem): number {
  return one.line - other.line;
}

/** The file is refused. Nothing of it was stored. */
export class RefusedFile extends InputError {
  /** The number of all problems. `lines` has the first ones. */
  readonly count: number;
  readonly lines: readonly LineProblem[];

  constructor(name: string, lines: readonly LineProblem[], count = lines.length) {
    const problems = lines.map(({ line, column, message }) => ({
      path: [line > 0 && `line ${line}`, column && `column "${column}"`].filter(Boolean).join(', ') || 'file',
      message,
    }));
    const more = count - lines.length;
    if (more > 0) problems.push({ path: '...', message: `and ${formatCount(more)} more` });
    super(name, problems, count);
    this.count = count;
    this.lines = lines;
  }
}
