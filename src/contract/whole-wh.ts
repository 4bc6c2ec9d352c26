import { z } from 'zod';

/**
 * Energy in whole Wh, in answers and files. It accepts numbers beyond 2^53, which `z.int()` refuses.
 * Registers with absurd values can have sums of that size. Such sums lose their last digits.
 */
export const wholeWh = z
  .number()
  .refine((value) => Number.isInteger(value), { error: 'must be whole Wh' })
  .meta({ type: 'integer' });
