import { Decoder } from 'cbor-x';
import { decodeCbor } from '../src/cbor/cbor-codec.ts';
import { encodeMessages, type IngestItem } from '../src/contract/encode-messages.ts';
import { createMessageDecoder } from '../src/decode/message-decoder.ts';
import { createNameTable } from '../src/decode/name-table.ts';
import { messagesToColumns } from '../test/support/messages-to-columns.ts';
import { median } from './statistics.ts';
import { telemetryBodies } from './telemetry-bodies.ts';

const MESSAGES = 10_000;
const ROUNDS = 25;
const ROUNDS_TO_WARM_UP = 10;

/** One comparison: how many times as fast as the reference, and how many times it has to be. */
export interface Ratio {
  name: string;
  ratio: number;
  ratioMin: number;
}

/**
 * Decodes and encodes one batch of 10,000 messages of ten fields in several ways on one thread. The ways take
 * turns, so that a busy machine slows them all. Prints medians, and their ratios to cbor-x, which only builds
 * objects.
 */
export async function benchDecode(print: (line: string) => void): Promise<Ratio[]> {
  const { body } = telemetryBodies(1, MESSAGES)[0]!;
  const names = createNameTable();
  const decoder = createMessageDecoder(names);
  const reference = new Decoder({ useRecords: false, mapsAsObjects: true });
  const { messages } = decodeCbor(body) as { messages: IngestItem[] };
  const ms = mediansOf({
    'cbor-x': () => reference.decode(body),
    walker: () => decoder.decode(body),
    decodeCbor: () => decodeCbor(body),
    messagesToColumns: () => messagesToColumns(messages, names),
    encodeMessages: () => encodeMessages(messages, 'solar'),
  });
  for (const [name, median] of Object.entries(ms)) {
    print(`${name.padEnd(20)} ${median.toFixed(1).padStart(6)} ms for ${MESSAGES} messages`);
  }
  const ratios: Ratio[] = [
    { name: 'walker, times as fast as cbor-x', ratio: ms['cbor-x']! / ms.walker!, ratioMin: 1.5 },
    {
      name: 'encoding, times as fast as cbor-x decodes',
      ratio: ms['cbor-x']! / ms.encodeMessages!,
      ratioMin: 1,
    },
  ];
  for (const { name, ratio, ratioMin } of ratios) {
    print(`${name}: ${ratio.toFixed(1)} (at least ${ratioMin})`);
  }
  return ratios;
}

function mediansOf(runs: Record<string, () => unknown>): Record<string, number> {
  const durations = new Map<string, number[]>(Object.keys(runs).map((name) => [name, []]));
  for (let round = 0; round < ROUNDS_TO_WARM_UP + ROUNDS; round++) {
    for (const [name, run] of Object.entries(runs)) {
      const started = performance.now();
      run();
      if (round >= ROUNDS_TO_WARM_UP) durations.get(name)!.push(performance.now() - started);
    }
  }
  return Object.fromEntries([...durations].map(([name, each]) => [name, median(each)]));
}
