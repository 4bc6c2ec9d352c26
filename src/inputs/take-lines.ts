import { setImmediate as nextTurn } from 'node:timers/promises';
import { type EncodedBatch, encodeMessages, type IngestItem } from '../contract/encode-messages.ts';
import { StreamError } from '../contract/stream-errors.ts';
import { limits } from '../contract/wire-limits.ts';
import { formatCount } from '../lib/format-count.ts';
import { PROBLEMS_LISTED_MAX } from '../stream/ingest/check-items.ts';
import type { InputCounter } from './input-counter.ts';
import type { LineContext, LineReader } from './read-influx-line.ts';

/** A line that was refused, counted from 1. */
export interface RefusedLine {
  line: number;
  reason: string;
}

interface TakenLines {
  /** The readings, to be stored. */
  batches: EncodedBatch[];
  readings: number;
  /** Lines that were not refused. */
  accepted: number;
  refusedCount: number;
  /** The first of them. */
  refused: RefusedLine[];
}

/** A longer line could become a message that is too large. */
const LINE_CHARACTERS_MAX = 256 * 1024;
/**
 * Other work gets a turn after this number of lines, of characters of long lines, or of readings if several
 * rules match a line.
 */
const SLICE_LINES = 250;
const SLICE_CHARACTERS = 128 * 1024;
const SLICE_READINGS = 2_500;

/**
 * Reads the lines of a body. Lines that cannot be read are left out and listed.
 * @throws StreamError PayloadTooLarge if there are too many lines; none was read then
 */
export async function takeLines(
  text: string,
  read: LineReader,
  context: LineContext,
  counter: InputCounter,
): Promise<TakenLines> {
  requireLines(text);
  const taken: TakenLines = { batches: [], readings: 0, accepted: 0, refusedCount: 0, refused: [] };
  const tables = new Map<string, IngestItem[]>();
  let number = 0;
  let lines = 0;
  let characters = 0;
  let waiting = 0;
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf('\n', start);
    const line = text.slice(start, end < 0 ? text.length : end).replace(/\r$/, '');
    start = end < 0 ? text.length : end + 1;
    number++;
    takeLine(line, number);
    lines++;
    characters += line.length;
    if (lines < SLICE_LINES && characters < SLICE_CHARACTERS && waiting < SLICE_READINGS) continue;
    encode();
    await nextTurn();
  }
  encode();
  return taken;

  function takeLine(line: string, number: number): void {
    const outcomes =
      line.length > LINE_CHARACTERS_MAX
        ? [{ kind: 'refused' as const, reason: `the line has more than ${LINE_CHARACTERS_MAX} characters` }]
        : read(line, context);
    if (outcomes.length === 0) return;
    counter.noteReceived();
    const problem = outcomes.find((outcome) => outcome.kind === 'refused');
    if (problem === undefined) taken.accepted++;
    else {
      taken.refusedCount++;
      if (taken.refused.length < PROBLEMS_LISTED_MAX)
        taken.refused.push({ line: number, reason: problem.reason });
      counter.noteRefused(`line ${number}`, problem.reason);
    }
    for (const outcome of outcomes) {
      if (outcome.kind === 'ignored') counter.noteIgnored(outcome.reason);
      if (outcome.kind !== 'reading') continue;
      const items = tables.get(outcome.table);
      if (items) items.push(outcome.item);
      else tables.set(outcome.table, [outcome.item]);
      taken.readings++;
      waiting++;
    }
  }

  function encode(): void {
    for (const [table, items] of tables) taken.batches.push(encodeMessages(items, table));
    tables.clear();
    lines = characters = waiting = 0;
  }
}

function requireLines(text: string): void {
  let lines = 0;
  for (let at = 0; at >= 0 && at < text.length; lines++) {
    const end = text.indexOf('\n', at);
    at = end < 0 ? end : end + 1;
  }
  if (lines > limits.itemsPerIngestMax)
    throw new StreamError(
      'PayloadTooLarge',
      `at most ${formatCount(limits.itemsPerIngestMax)} lines can be sent at once; send smaller batches`,
    );
}
