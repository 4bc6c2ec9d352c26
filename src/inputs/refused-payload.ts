import { isUtf8 } from 'node:buffer';
import { type AuditItem, INPUT_REFUSED } from '../contract/messages.ts';
import { limits } from '../contract/wire-limits.ts';
import type { UtcMs } from '../lib/time.ts';

/** Characters of a payload that are kept. */
const PAYLOAD_CHARACTERS_MAX = 2_000;

/**
 * The entry for a payload that cannot be used. It is stored in the log, and the worker that lands it puts it into the quarantine.
 */
export function refusedPayload(
  input: string,
  { topic, payload }: { topic: string; payload: Uint8Array },
  reason: string,
  receivedAtMs: UtcMs,
): AuditItem {
  const buffer = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  const text = isUtf8(buffer) ? buffer.toString('utf8') : buffer.toString('base64');
  return {
    actor: `input ${input}`,
    action: INPUT_REFUSED,
    target: clip(topic, limits.textCharactersMax),
    event_time: receivedAtMs,
    data: {
      reason: clip(reason, limits.textCharactersMax),
      payload: clip(text, PAYLOAD_CHARACTERS_MAX),
      bytes: payload.length,
    },
  };
}

function clip(text: string, charactersMax: number): string {
  return text.slice(0, charactersMax).toWellFormed();
}
