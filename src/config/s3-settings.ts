import { z } from 'zod';
import { plainServerUrl } from './server-url.ts';

/** The address of a store. The bucket is not part of it. */
export const storeUrl = plainServerUrl(
  'the storage without a query or a fragment, such as "https://s3.eu-west-1.amazonaws.com"',
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
