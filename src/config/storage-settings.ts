import { z } from 'zod';

export const storageSchema = z
  .strictObject({
    /** True if all workers use the same data folder, for example over a network file system. */
    shared: z.boolean().default(false),
  })
  .prefault({});
