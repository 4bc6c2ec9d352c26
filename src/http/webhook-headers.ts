import { createHmac } from 'node:crypto';

interface Webhook {
  headers: Record<string, string>;
  secret?: string | undefined;
}

/**
 * The headers of a POST to a webhook. The receiver recognizes a repeated request by its key. With a secret
 * the request is signed: `Wattline-Signature` is `sha256=` and the HMAC (RFC 2104) of the body.
 * @param readBody returns the parts of the body. It is called only with a secret
 */
export async function webhookHeaders(
  { headers, secret }: Webhook,
  idempotencyKey: string,
  readBody: () => Iterable<string> | AsyncIterable<Uint8Array>,
): Promise<Record<string, string>> {
  const all = { ...headers, 'Idempotency-Key': idempotencyKey };
  if (secret === undefined) return all;
  const hmac = createHmac('sha256', secret);
  for await (const part of readBody()) hmac.update(part);
  return { ...all, 'Wattline-Signature': `sha256=${hmac.digest('hex')}` };
}
