import { decodeCbor, MalformedError } from '../contract/codec.ts';
import { StreamError } from '../contract/errors.ts';
import { measureJson, parseJsonExact } from '../contract/json-text.ts';
import { limits } from '../contract/limits.ts';
import { jsonErrorPosition } from './json-position.ts';

/** How devices may send their messages. */
export const ingestTypes = ['application/cbor', 'application/json', 'application/x-ndjson'] as const;
export type IngestType = (typeof ingestTypes)[number];

/**
 * Reads the items of an ingest body, whatever they are. Integers beyond 2^53 keep all their digits, in JSON too.
 * @throws StreamError InvalidRequest with the place where the body is malformed, PayloadTooLarge for too many items
 */
export function readItems(body: Uint8Array, type: IngestType): unknown[] {
  const items = decode(body, type);
  if (items.length === 0) throw invalid('the body holds no items');
  if (items.length > limits.itemsPerIngestMax)
    throw new StreamError('PayloadTooLarge', `at most ${limits.itemsPerIngestMax} items can be sent at once`);
  return items;
}

function decode(body: Uint8Array, type: IngestType): unknown[] {
  switch (type) {
    case 'application/cbor':
      return arrayOf(decodeBinary(body));
    case 'application/json':
      return arrayOf(decodeJson(decodeText(body), (position) => `at character ${position}`));
    case 'application/x-ndjson':
      return decodeLines(decodeText(body));
    default:
      return type satisfies never;
  }
}

function decodeBinary(body: Uint8Array): unknown {
  try {
    return decodeCbor(body);
  } catch (error) {
    if (error instanceof MalformedError) throw invalid(`the CBOR is ${error.message}`);
    throw error;
  }
}

function decodeText(body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw invalid('the body is not UTF-8');
  }
}

function decodeLines(text: string): unknown[] {
  const items: unknown[] = [];
  let number = 0;
  for (const line of text.split('\n')) {
    number++;
    if (line.trim() === '') continue;
    const place = number;
    items.push(decodeJson(line, (position) => `in line ${place} at character ${position}`));
    if (items.length > limits.itemsPerIngestMax) break;
  }
  return items;
}

function decodeJson(text: string, place: (position: number) => string): unknown {
  const { depth, containers } = measureJson(text);
  if (depth > limits.depthMax || containers > limits.decodedContainersMax)
    throw invalid('the JSON is nested too deep or holds too many objects');
  try {
    return parseJsonExact(text);
  } catch {
    throw invalid(`the JSON is malformed ${place(jsonErrorPosition(text))}`);
  }
}

function arrayOf(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw invalid('the body must be an array of items');
  return value;
}

function invalid(message: string): StreamError {
  return new StreamError('InvalidRequest', message, { parameter: 'body' });
}
