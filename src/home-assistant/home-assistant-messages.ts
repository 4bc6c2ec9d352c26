import { z } from 'zod';

/** A message of the server. See developers.home-assistant.io/docs/api/websocket. */
export const answerSchema = z.object({
  type: z.string(),
  id: z.number().optional(),
  success: z.boolean().optional(),
  result: z.unknown().optional(),
  error: z
    .object({ code: z.union([z.string(), z.number()]), message: z.string() })
    .partial()
    .optional(),
});

/**
 * The answer of `recorder/list_statistic_ids`. Older versions have `has_mean`, newer ones `mean_type`, which
 * is 0 without a mean.
 */
export const statisticsListSchema = z.array(
  z.object({
    statistic_id: z.string(),
    name: z.string().nullable().optional(),
    source: z.string().optional(),
    has_sum: z.boolean(),
    has_mean: z.boolean().optional(),
    mean_type: z.number().nullable().optional(),
    statistics_unit_of_measurement: z.string().nullable().optional(),
    unit_class: z.string().nullable().optional(),
  }),
);

const value = z.number().nullable().optional();

/**
 * The answer of `recorder/statistics_during_period`: rows by statistic. `start` and `end` are in
 * milliseconds.
 */
export const statisticsRowsSchema = z.record(
  z.string(),
  z.array(z.object({ start: z.number(), end: z.number(), sum: value, state: value, mean: value })),
);
