import { decodeCbor, MalformedError } from '../../cbor/cbor-codec.ts';
import { cborInitial, cborMajor, headArgument, INDEFINITE, majorOf } from '../../cbor/cbor-head.ts';
import { cborBytes, firstItemOf, skipItem } from '../../cbor/check-cbor.ts';
import type { IngestType } from '../../contract/ingest-types.ts';
import { StreamError } from '../../contract/stream-errors.ts';
import { limits } from '../../contract/wire-limits.ts';
import { errorMessage } from '../../lib/errors.ts';
import { measureJson, parseJsonExact } from '../../lib/json-text.ts';
import { findRepeatedName } from './find-repeated-name.ts';

/**
 * Reads the items of an ingest body. Integers beyond 2^53 keep all digits, also in JSON.
 * @throws StreamError InvalidRequest with the place of the error, PayloadTooLarge for too many items
 */
export function readItems(body: Uint8Array, type: IngestType): unknown[] {
  const items = decode(body, type);
  if (items.length === 0) throw invalid('the body holds no items');
  if (items.length > limits.itemsPerIngestMax) throw tooManyItems();
  return items;
}

function decode(body: Uint8Array, type: IngestType): unknown[] {
  switch (type) {
    case 'application/cbor':
      return arrayOf(decodeBinary(body));
    case 'application/json':
      return arrayOf(decodeJson(decodeText(body), 'the JSON'));
    case 'application/x-ndjson':
      return decodeLines(decodeText(body));
    default:
      return type satisfies never;
  }
}

function decodeBinary(body: Uint8Array): unknown {
  if (holdsTooManyItems(body)) throw tooManyItems();
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

/** Counts the items of an array by structure alone, because building millions of items takes too long. */
function holdsTooManyItems(body: Uint8Array): boolean {
  if (body.length === 0 || majorOf(body[0]!) !== cborMajor.array) return false;
  const cbor = cborBytes(body);
  try {
    let at = firstItemOf(cbor, 0);
    const count = headArgument(cbor.view, 0);
    if (count !== INDEFINITE) return count > limits.itemsPerIngestMax;
    for (let items = 0; body[at] !== cborInitial.break; at = skipItem(cbor, at))
      if (++items > limits.itemsPerIngestMax) return true;
  } catch (error) {
    // The decoder reports what is wrong, and where.
    if (!(error instanceof MalformedError)) throw error;
  }
  return false;
}

function decodeLines(text: string): unknown[] {
  const items: unknown[] = [];
  let number = 0;
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf('\n', start);
    const line = text.slice(start, end === -1 ? text.length : end);
    start = end === -1 ? text.length : end + 1;
    number++;
    if (line.trim() === '') continue;
    items.push(decodeJson(line, `the JSON in line ${number}`));
    if (items.length > limits.itemsPerIngestMax) break;
  }
  return items;
}

/** @param what names the text in an error */
function decodeJson(text: string, what: string): unknown {
  const { depth, containers, outermost, widest, members } = measureJson(text);
  if (outermost > limits.itemsPerIngestMax && text.trimStart().startsWith('[')) throw tooManyItems();
  if (depth > limits.depthMax || containers > limits.decodedContainersMax || widest > limits.mapMembersMax)
    throw invalid('the JSON is nested too deep or holds too many objects or members');
  const value = parse(text, what);
  // JSON.parse keeps the last of two members with one name.
  if (countMembers(value) === members) return value;
  const { name, position } = findRepeatedName(text) ?? { name: '', position: 0 };
  const quotedName = JSON.stringify(name.slice(0, limits.nameCharactersMax).toWellFormed());
  throw invalid(`${what} names ${quotedName} twice in one object, at position ${position}`);
}

function parse(text: string, what: string): unknown {
  try {
    return parseJsonExact(text);
  } catch (error) {
    // Node's message has a position, or a few characters that may begin inside a surrogate pair.
    throw invalid(`${what} is malformed: ${errorMessage(error).toWellFormed()}`);
  }
}

/** Counts the members of all objects in a value. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let members = 0;
  if (Array.isArray(value)) for (const item of value) members += countMembers(item);
  else
    for (const name in value) {
      members++;
      const member = (value as Record<string, unknown>)[name];
      if (typeof member === 'object') members += countMembers(member);
    }
  return members;
}

function arrayOf(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw invalid('the body must be an array of items');
  return value;
}

function tooManyItems(): StreamError {
  return new StreamError('PayloadTooLarge', `at most ${limits.itemsPerIngestMax} items can be sent at once`);
}

function invalid(message: string): StreamError {
  return new StreamError('InvalidRequest', message, { parameter: 'body' });
}
