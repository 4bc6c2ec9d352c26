import { instantAt, type MessageColumns, messageKinds } from '../decode/message-columns.ts';
import { SECOND_MS } from '../lib/time.ts';

/** The delays of telemetry: the time from the event at the device until the stream had the message. */
export interface EventDelays {
  /**
   * Number of messages for each bound of `eventDelayBoundsSeconds`, and at the end the number of messages
   * with a longer delay.
   */
  counts: number[];
  /** Sum of all delays. If the clock of a device is ahead, its delay counts as 0. */
  sumSeconds: number;
}

/** From a second to a week. */
export const eventDelayBoundsSeconds: readonly number[] = [
  1, 2, 5, 10, 30, 60, 300, 900, 3_600, 21_600, 86_400, 604_800,
];

const TELEMETRY = messageKinds.indexOf('telemetry');

export function countEventDelays(
  columns: Pick<MessageColumns, 'count' | 'kind' | 'eventTime' | 'storeTime'>,
): EventDelays {
  const counts = new Array<number>(eventDelayBoundsSeconds.length + 1).fill(0);
  let sumSeconds = 0;
  for (let row = 0; row < columns.count; row++) {
    if (columns.kind[row] !== TELEMETRY) continue;
    const delayMs = instantAt(columns.storeTime, row) - instantAt(columns.eventTime, row);
    const seconds = Math.max(0, delayMs / SECOND_MS);
    let bucket = 0;
    while (bucket < eventDelayBoundsSeconds.length && seconds > eventDelayBoundsSeconds[bucket]!) bucket++;
    counts[bucket]! += 1;
    sumSeconds += seconds;
  }
  return { counts, sumSeconds };
}
