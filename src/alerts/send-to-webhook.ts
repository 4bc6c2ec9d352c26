import type { WebhookSettings } from '../config/webhook-settings.ts';
import { send } from '../http/send-request.ts';
import { webhookHeaders } from '../http/webhook-headers.ts';
import { formatInstant } from '../lib/time.ts';
import type { AlertMessage } from './alert-state.ts';
import { requireTaken } from './require-taken.ts';

/**
 * POSTs a message as JSON. Slack, Teams and Mattermost read `text`; Apprise reads `title`, `body` and `type`.
 */
export async function sendToWebhook(
  webhook: WebhookSettings,
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
  const { url } = webhook;
  const { status } = await send(
    {
      method: 'POST',
      url,
      headers: {
        ...(await webhookHeaders(webhook, id, () => [body])),
        'Content-Type': 'application/json',
      },
      text: body,
    },
    signal,
  );
  requireTaken(url, status);
}
