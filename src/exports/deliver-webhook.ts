import { createHmac } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { ExportConfig } from '../config/export-settings.ts';
import { send } from '../http/send-request.ts';
import { TransientError } from '../lib/errors.ts';
import type { Outgoing } from './outgoing.ts';

type Webhook = NonNullable<ExportConfig['destination']['webhook']>;

/**
 * POSTs the file. The receiver recognizes a repeated file by its key, and our requests by their signature.
 */
export async function deliverToWebhook(
  { url, headers, secret }: Webhook,
  { path, name, bytes, sha256, contentType, idempotencyKey }: Outgoing,
  signal: AbortSignal,
): Promise<string> {
  const { host } = new URL(url);
  const { status } = await send(
    {
      method: 'POST',
      url,
      headers: {
        ...headers,
        'Content-Type': contentType,
        'Content-Length': String(bytes),
        'Content-Disposition': `attachment; filename="${name}"`,
        'Idempotency-Key': idempotencyKey,
        'Wattline-Sha256': sha256,
        ...(secret !== undefined && { 'Wattline-Signature': `sha256=${await hmacOf(path, secret)}` }),
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

async function hmacOf(path: string, secret: string): Promise<string> {
  const hmac = createHmac('sha256', secret);
  for await (const chunk of createReadStream(path)) hmac.update(chunk);
  return hmac.digest('hex');
}
