import { WHOLE_PAYLOAD } from '../config/input-settings.ts';
import { parseJsonExact } from '../lib/json-text.ts';

/** The payload of a message, read once. */
export interface MessagePayload {
  /** The value at a JSON pointer, or the whole payload. Undefined if there is none. */
  at(pointer: string): unknown;
  /** True if the payload is JSON. */
  isJson: boolean;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads a payload as JSON, or else as text. @returns undefined if it is not text in UTF-8 */
export function readMessagePayload(bytes: Uint8Array): MessagePayload | undefined {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return undefined;
  }
  let value: unknown = text;
  let isJson = true;
  try {
    value = parseJsonExact(text);
  } catch {
    isJson = false;
  }
  return { isJson, at: (pointer) => (pointer === WHOLE_PAYLOAD ? value : memberAt(value, pointer)) };
}

/** RFC 6901. */
function memberAt(value: unknown, pointer: string): unknown {
  let member = value;
  for (const part of pointer.slice(1).split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof member !== 'object' || member === null || !Object.hasOwn(member, name)) return undefined;
    member = (member as Record<string, unknown>)[name];
  }
  return member;
}
