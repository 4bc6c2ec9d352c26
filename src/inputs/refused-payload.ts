import { type AuditItem, INPUT_REFUSED } from '../contract/messages.ts';
import { limits } from '../contract/wire-limits.ts';
import { shortenText } from '../lib/clip-text.ts';
import type { UtcMs } from '../lib/time.ts';

/** Characters of a payload that are kept. */
const PAYLOAD_CHARACTERS_MAX = 2_000;
const UTF8_BYTES_MAX = 4;

/**
 * The entry for a payload that cannot be used. It is stored in the log, and the worker that lands it puts it
 * into the quarantine.
 */
export function refusedPayload(
  input: string,
  { topic, payload }: { topic: string; payload: Uint8Array },
  reason: string,
  receivedAtMs: UtcMs,
): AuditItem {
  return {
    actor: `input ${input}`,
    action: INPUT_REFUSED,
    target: shortenText(topic, limits.textCharactersMax),
    event_time: receivedAtMs,
    data: {
      reason: shortenText(reason, limits.textCharactersMax),
      payload: beginningOf(payload),
      bytes: payload.length,
    },
  };
}

/**
 * The characters of a payload that are kept. Only these bytes are decoded, because a broker can send 256 MiB.
 */
function beginningOf(payload: Uint8Array): string {
  const bytes = payload.subarray(0, PAYLOAD_CHARACTERS_MAX * UTF8_BYTES_MAX);
  try {
    // A stream may end within a character.
    return new TextDecoder('utf-8', { fatal: true })
      .decode(bytes, { stream: true })
      .slice(0, PAYLOAD_CHARACTERS_MAX)
      .toWellFormed();
  } catch {
    return Buffer.from(bytes).toString('base64').slice(0, PAYLOAD_CHARACTERS_MAX);
  }
}
