import type { AlertChannel } from '../config/alert-settings.ts';
import { send } from '../http/send-request.ts';
import type { AlertMessage } from './alert-state.ts';
import { requireTaken } from './require-taken.ts';

/** ntfy makes a longer text an attachment. */
const TEXT_BYTES_MAX = 4_000;

/** POSTs a message to a topic of ntfy: the text as the body, the rest in headers. */
export async function sendToNtfy(
  { url, token }: NonNullable<AlertChannel['ntfy']>,
  { id, kind, title, text, isUrgent }: AlertMessage,
  signal: AbortSignal,
): Promise<void> {
  const { status } = await send(
    {
      method: 'POST',
      url,
      headers: {
        Title: encodedHeader(title),
        Priority: isUrgent ? 'high' : 'default',
        Tags: kind === 'recovered' ? 'white_check_mark' : kind === 'test' ? 'bell' : 'warning',
        'Content-Type': 'text/plain; charset=utf-8',
        'Idempotency-Key': id,
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      },
      text: clipBytes(text, TEXT_BYTES_MAX),
    },
    signal,
  );
  requireTaken(url, status);
}

/** Headers are ASCII. ntfy decodes RFC 2047. */
function encodedHeader(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : `=?UTF-8?B?${Buffer.from(text).toString('base64')}?=`;
}

function clipBytes(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return text;
  return `${bytes
    .subarray(0, bytesMax)
    .toString('utf8')
    .replace(/\ufffd+$/, '')}…`;
}
