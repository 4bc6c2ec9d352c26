import { z } from 'zod';
import { serverUrl } from './server-url.ts';

/** The headers that Wattline sets itself, for the body and for repeated requests. */
const OWN_HEADERS = /^(content-.*|transfer-encoding|host|idempotency-key|wattline-.*)$/i;

/** A receiver of POST requests. */
export const webhookSchema = z.strictObject({
  url: serverUrl,
  headers: z
    .record(
      z
        .string()
        .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'is not a name of a header')
        .refine((name) => !OWN_HEADERS.test(name), { error: 'is a header that Wattline sets itself' }),
      z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'must be one line of text'),
    )
    .default({}),
  /** With a secret each request is signed with an HMAC of its body. */
  secret: z.string().min(8, 'must have at least 8 characters').optional(),
});

export type WebhookSettings = z.output<typeof webhookSchema>;
