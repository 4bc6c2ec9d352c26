import { shortenText } from '../lib/clip-text.ts';
import { formatCountOf } from '../lib/format-count.ts';
import { bigintAsText } from '../lib/json-text.ts';
import { Breach, must } from './breach.ts';
import { type Item, itemMember, itemsOf, plain } from './cbor-item.ts';
import type { Sent } from './sent-request.ts';

/** The answer to a request. */
export interface Answer {
  sent: Sent;
  status: number;
  header(name: string): string | undefined;
  bytes: Uint8Array;
  /** The body, if it is CBOR. */
  item: Item | undefined;
  /** The reason why the body is not CBOR. */
  problem: string | undefined;
  startedMs: number;
  endedMs: number;
}

/** A successful read. Its members may have any form, because other rules check the form. */
export interface Batch {
  sent: Sent;
  messages: Message[];
  nextOffset: bigint;
  upToDate: unknown;
  clamped: unknown;
  /** Milliseconds until the answer. */
  tookMs: number;
}

export interface Message {
  offset: bigint;
  storeTimeMs: number;
  /** All members of the message. */
  fields: Record<string, unknown>;
}

/** Reads an answer as a batch of messages. @throws Breach if it is not a batch */
export function batchOf(answer: Answer): Batch {
  must(answer.status === 200, () => describeAnswer(answer), answer.sent);
  return batchOfItem(answer.item, answer.sent, answer.endedMs - answer.startedMs, answer.problem);
}

export function batchOfItem(item: Item | undefined, sent: Sent, tookMs: number, problem?: string): Batch {
  must(item !== undefined, () => `a body that is not CBOR: ${problem}`, sent);
  const nextOffset = integerOf(itemMember(item, 'nextOffset'));
  must(nextOffset !== undefined, () => `no nextOffset in ${shorten(plain(item))}`, sent);
  const messages = itemsOf(itemMember(item, 'messages')).map((message): Message => {
    const offset = integerOf(itemMember(message, 'offset'));
    const storeTime = integerOf(itemMember(message, 'store_time'));
    if (offset === undefined || storeTime === undefined)
      throw new Breach(`a message without offset or store_time: ${shorten(plain(message))}`, sent);
    return { offset, storeTimeMs: Number(storeTime), fields: plain(message) as Record<string, unknown> };
  });
  const { upToDate, clamped } = plain(item) as Record<string, unknown>;
  return { sent, messages, nextOffset, upToDate, clamped, tookMs };
}

/** The integer in an item of any form; undefined if it is none. */
export function integerOf(item: Item | undefined): bigint | undefined {
  if (item?.type === 'integer') return item.value;
  if (item?.type === 'float' && Number.isInteger(item.value)) return BigInt(item.value);
  if (item?.type === 'text' && /^\d+$/.test(item.value)) return BigInt(item.value);
  return undefined;
}

/**
 * The members of an answer that must be a certain error.
 * @throws Breach if it is another answer
 */
export function errorOf(
  answer: Answer,
  status: number,
  code: string,
  details: Record<string, unknown> = {},
): Record<string, unknown> {
  const expectation = `instead of ${status} ${code}`;
  must(answer.status === status, () => `${describeAnswer(answer)} ${expectation}`, answer.sent);
  const members = answer.item === undefined ? {} : (plain(answer.item) as Record<string, unknown>);
  must(members?.error === code, () => `${describeAnswer(answer)} ${expectation}`, answer.sent);
  for (const [name, value] of Object.entries(details))
    must(
      members[name] === value,
      () => `${name} is ${shorten(members[name])}, not ${shorten(value)}`,
      answer.sent,
    );
  return members;
}

/** Describes an answer in a few words. */
export function describeAnswer({ status, item, bytes, header }: Answer): string {
  const members = item?.type === 'map' ? (plain(item) as Record<string, unknown>) : undefined;
  if (typeof members?.error === 'string') return `${status} ${members.error} (${shorten(members.message)})`;
  if (Array.isArray(members?.messages))
    return `${status} with ${formatCountOf(members.messages.length, 'message')}`;
  return `${status} with ${bytes.length} bytes of ${header('content-type') ?? 'no content type'}`;
}

const SHOWN_MAX = 200;

/** Shows a value as short text. */
export function shorten(value: unknown): string {
  const text = JSON.stringify(value, bigintAsText);
  if (text === undefined) return 'nothing';
  return shortenText(text, SHOWN_MAX);
}
