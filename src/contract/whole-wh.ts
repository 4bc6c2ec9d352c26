import { z } from 'zod';

/**
 * Energy in whole Wh, in answers and files. Sums may pass 2^53 where registers show absurd values: then the last digits are lost, and nothing
 * else is. So this is not `z.int()`, which refuses them.
 */
export const wholeWh = z
  .number()
  .refine((value) => Number.isInteger(value), { error: 'must be whole Wh' })
  .meta({ type: 'integer' });
