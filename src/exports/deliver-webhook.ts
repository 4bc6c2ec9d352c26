import { createReadStream } from 'node:fs';
import type { WebhookSettings } from '../config/webhook-settings.ts';
import { send } from '../http/send-request.ts';
import { webhookHeaders } from '../http/webhook-headers.ts';
import { TransientError } from '../lib/errors.ts';
import type { Outgoing } from './outgoing.ts';

/** POSTs the file. */
export async function deliverToWebhook(
  webhook: WebhookSettings,
  { path, name, bytes, sha256, contentType, idempotencyKey }: Outgoing,
  signal: AbortSignal,
): Promise<string> {
  const { url } = webhook;
  const { host } = new URL(url);
  const { status } = await send(
    {
      method: 'POST',
      url,
      headers: {
        ...(await webhookHeaders(webhook, idempotencyKey, () => createReadStream(path))),
        'Content-Type': contentType,
        'Content-Length': String(bytes),
        'Content-Disposition': `attachment; filename="${name}"`,
        'Wattline-Sha256': sha256,
      },
      bodyPath: path,
    },
    signal,
  );
  if (status >= 200 && status < 300) return `webhook at ${host}`;
  throw new TransientError(
    'DestinationRefused',
    `${host} refuses the file with HTTP ${status}; ${adviceOn(status)}`,
  );
}

function adviceOn(status: number): string {
  if (status >= 300 && status < 400) return 'redirects are not followed: configure the final address';
  if (status === 401 || status === 403) return 'check the configured headers and the secret';
  return 'see the log of the receiver';
}
