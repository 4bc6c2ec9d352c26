import { z } from 'zod';

/** An address of a server, without credentials. */
export const serverUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
  .refine((text) => !URL.canParse(text) || new URL(text).username + new URL(text).password === '', {
    error: 'must not contain a user or a password; use their own settings',
  });

/** The address of a store. It may have a path, as behind a gateway. The bucket is not part of it. */
export const storeUrl = serverUrl.refine(
  (text) => URL.canParse(text) && new URL(text).search + new URL(text).hash === '',
  {
    error:
      'must be the address of the storage without a query or a fragment, such as "https://s3.eu-west-1.amazonaws.com"',
  },
);

export const bucketName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{2,62}$/i, 'must be the name of a bucket, such as "energy-exports"');

/** Comes before the name of each object. */
export const keyPrefix = z
  .string()
  .regex(/^[\w!.*'()/ -]*$/, "may have letters, digits and _ - . / ! * ' ( )")
  .refine((text) => !/^\/|\/\/|(^|\/)\.{1,2}(\/|$)/.test(text), {
    error: 'must not begin with a slash, and must not have empty parts or parts of dots',
  });

export const regionName = z.string().min(1);
export const accessKeyText = z.string().min(1);
