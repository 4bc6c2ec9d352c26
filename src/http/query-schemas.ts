import { z } from 'zod';

/** For `z.string(once)`: a parameter that is repeated in a query string is refused. */
export const once = { error: 'must be given once' };

/** A number in a query string, from 1 to `most`. */
export function countParameter(most: number) {
  const error = `must be a number from 1 to ${most}`;
  return z
    .string(once)
    .regex(/^\d{1,9}$/, { error })
    .transform(Number)
    .refine((value) => value >= 1 && value <= most, { error })
    .optional();
}
