import { z } from 'zod';

/** An address of a server, without credentials. */
export const serverUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
  .refine((text) => !URL.canParse(text) || new URL(text).username + new URL(text).password === '', {
    error: 'must not contain a user or a password; use their own settings',
  });

/**
 * The address of a server, without a query or a fragment. It may have a path, as behind a gateway.
 * @param what and an example, for the message if it has one of them
 */
export function plainServerUrl(what: string) {
  return serverUrl.refine((text) => URL.canParse(text) && new URL(text).search + new URL(text).hash === '', {
    error: `must be the address of ${what}`,
  });
}
