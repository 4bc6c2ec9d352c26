import { DEVICE_STATUS_TABLE, type FieldValue } from '../contract/messages.ts';
import { parseTable } from '../contract/parse-table.ts';
import { StreamError } from '../contract/stream-errors.ts';
import { limits } from '../contract/wire-limits.ts';
import { checkItems } from '../stream/ingest/check-items.ts';
import { requireWritable } from '../stream/ingest/ingest.ts';
import type { InputOutcome } from './input-outcome.ts';

/** The parts of a reading as their templates give them. Undefined: a placeholder has no value. */
interface ReadingParts {
  table: string | undefined;
  /** The text of the device. */
  device: string | undefined;
  /** Null: the reading has no source. */
  source: string | null | undefined;
  data: Record<string, FieldValue>;
  eventTimeMs: number;
  hasOwnTime: boolean;
}

/**
 * Makes a reading, with the rules that a message over REST keeps.
 * @param devices the devices that the sender may write for
 */
export function readingOf(
  { table, device, source, data, eventTimeMs, hasOwnTime }: ReadingParts,
  idOf: (text: string) => string,
  devices: ReadonlySet<string> | 'all' = 'all',
): InputOutcome {
  if (table === undefined || device === undefined || source === undefined) {
    const missing = table === undefined ? 'table' : device === undefined ? 'device' : 'source';
    return refused(`the ${missing} has a placeholder without a value`);
  }
  const problem = tableProblem(table) ?? deviceProblem(device);
  if (problem !== undefined) return refused(problem);
  const item = { device: idOf(device), source, event_time: eventTimeMs, data };
  const checked = checkItems([item], table, devices);
  if (checked.kind === 'valid') return { kind: 'reading', table, item, hasOwnTime };
  return refused(checked.problems.map(({ field, reason }) => `${field} ${reason}`).join('; '));
}

function tableProblem(table: string): string | undefined {
  if (table === DEVICE_STATUS_TABLE) return `readings cannot be sent to the table "${table}"`;
  try {
    requireWritable(parseTable(table));
    return undefined;
  } catch (error) {
    if (error instanceof StreamError) return error.message;
    throw error;
  }
}

function deviceProblem(device: string): string | undefined {
  if (device.trim() === '') return 'the device is empty';
  return device.length > limits.nameCharactersMax || !device.isWellFormed()
    ? `the device must be text of at most ${limits.nameCharactersMax} characters`
    : undefined;
}

function refused(reason: string): InputOutcome {
  return { kind: 'refused', reason };
}
