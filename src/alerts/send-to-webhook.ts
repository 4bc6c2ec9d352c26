import { createHmac } from 'node:crypto';
import type { AlertChannel } from '../config/alert-settings.ts';
import { send } from '../http/send-request.ts';
import { formatInstant } from '../lib/time.ts';
import type { AlertMessage } from './alert-state.ts';
import { requireTaken } from './require-taken.ts';

/**
 * POSTs a message as JSON. Slack, Teams and Mattermost read `text`; Apprise reads `title`, `body` and `type`.
 * The receiver recognizes a repeated message by its key, and our messages by the signature.
 */
export async function sendToWebhook(
  { url, headers, secret }: NonNullable<AlertChannel['webhook']>,
  message: AlertMessage,
  workgroupId: string,
  signal: AbortSignal,
): Promise<void> {
  const { id, kind, condition, title, text, atMs, subjects, isUrgent } = message;
  const body = JSON.stringify({
    text: `${title}\n${text}`,
    title,
    body: text,
    type: kind === 'recovered' ? 'success' : isUrgent ? 'failure' : kind === 'test' ? 'info' : 'warning',
    kind,
    condition,
    workgroup: workgroupId,
    count: subjects.length,
    at: formatInstant(atMs),
    id,
  });
  const signature = secret && createHmac('sha256', secret).update(body).digest('hex');
  const { status } = await send(
    {
      method: 'POST',
      url,
      headers: {
        ...headers,
        'Content-Type': 'application/json',
        'Idempotency-Key': id,
        ...(signature && { 'Wattline-Signature': `sha256=${signature}` }),
      },
      text: body,
    },
    signal,
  );
  requireTaken(url, status);
}
