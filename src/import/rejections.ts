import type { RejectedMessage } from '../decode/message-columns.ts';

/** Why a row of a file is rejected. */
export type RejectionReason =
  | 'malformed_row'
  | 'bad_time'
  | 'no_such_local_time'
  | 'no_device'
  | 'bad_source'
  | 'bad_field'
  | 'no_number';

/** Rejected rows of one file that are kept with their content. Further rows are only counted. */
export const REJECTED_KEPT_MAX = 10_000;
const EXAMPLES_MAX = 5;

/** The rejected rows of a file so far. */
export interface Rejections {
  add(rejected: {
    reason: RejectionReason;
    detail: string;
    content: string;
    offset: bigint | undefined;
  }): void;
  /** Rows since the last call, for the quarantine. */
  take(): RejectedMessage[];
  readonly count: number;
  counts(): Record<string, number>;
  examples(): RejectedRow[];
}

export interface RejectedRow {
  reason: string;
  detail: string;
  content: string;
}

export function createRejections(): Rejections {
  const counts = new Map<string, number>();
  const examples: RejectedRow[] = [];
  let waiting: RejectedMessage[] = [];
  let count = 0;
  return {
    add({ reason, detail, content, offset }) {
      count += 1;
      const before = counts.get(reason) ?? 0;
      counts.set(reason, before + 1);
      // Some examples of each reason, so that a frequent reason does not hide the others.
      if (before < EXAMPLES_MAX) examples.push({ reason, detail, content });
      if (count <= REJECTED_KEPT_MAX) waiting.push({ offset, reason, detail, bytes: Buffer.from(content) });
    },
    take() {
      const taken = waiting;
      waiting = [];
      return taken;
    },
    get count() {
      return count;
    },
    counts: () => Object.fromEntries(counts),
    examples: () => examples,
  };
}
