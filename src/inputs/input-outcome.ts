import type { TelemetryItem } from '../contract/messages.ts';

/** The outcome of a message or a line, by one rule. */
export type InputOutcome =
  | {
      kind: 'reading';
      table: string;
      item: TelemetryItem;
      /** False if the time of the reading is its arrival. */
      hasOwnTime: boolean;
    }
  /** It has no reading, which is not a fault. */
  | { kind: 'ignored'; reason: string }
  | { kind: 'refused'; reason: string };
