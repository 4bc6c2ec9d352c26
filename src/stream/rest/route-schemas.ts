import { z } from 'zod';
import { ingestTypes } from '../../contract/ingest-types.ts';
import { limits } from '../../contract/wire-limits.ts';

/** Schemas of the stream's routes for the API description. The contract itself is in `src/contract`. */

export const CBOR = 'application/cbor';

const addressSchema = z.object({
  workgroupId: z.string().meta({ description: 'Workgroup' }),
  tableName: z.string().meta({ description: 'Table, or "-" for all tables' }),
});
const readQuerySchema = z.object({
  offset: z.string().optional().meta({ description: 'Resume here: the nextOffset of the last answer' }),
  timestamp: z
    .string()
    .optional()
    .meta({ description: 'Start at this store time: ISO 8601 with a zone, or milliseconds since 1970' }),
  limit: z
    .string()
    .optional()
    .meta({ description: `Messages at most, 1 to ${limits.messagesPerReadMax}` }),
});

const offsetSchema = z.int().meta({ description: 'An unsigned 64-bit integer' });
const readBodySchema = z.object({
  nextOffset: offsetSchema,
  count: z.int(),
  upToDate: z.boolean(),
  earliestOffset: offsetSchema,
  epoch: z.string().meta({ description: 'Changes when the log is created again' }),
  clamped: z.enum(['retention', 'future']).optional(),
  messages: z.array(z.record(z.string(), z.unknown())),
});
const itemSchema = z.object({
  device: z.string().meta({ description: 'UUID' }),
  source: z.string().nullish(),
  event_time: z.int().meta({ description: 'Milliseconds since 1970' }),
  msg_id: z.int().optional(),
  data: z.record(z.string(), z.union([z.number(), z.string(), z.boolean(), z.null()])),
});
const errorSchema = z.looseObject({
  error: z.string(),
  message: z.string(),
  status: z.int(),
  retryable: z.boolean(),
});

function inCbor(description: string, schema: z.ZodType) {
  return { description, content: { [CBOR]: { schema } } };
}

const errors = {
  400: inCbor('What is wrong with which parameter or item', errorSchema),
  401: inCbor('No token, or one that is not valid', errorSchema),
  403: inCbor('The token does not allow it, or there is no such workgroup', errorSchema),
  429: inCbor('Too many requests with this token; see Retry-After', errorSchema),
  503: inCbor('Not now; see Retry-After', errorSchema),
};

export const readSchema = {
  summary: 'Latest messages of a table',
  tags: ['stream'],
  params: addressSchema,
  querystring: readQuerySchema,
  response: {
    200: inCbor('Messages in the order in which they were stored', readBodySchema),
    ...errors,
    410: inCbor('The messages at the offset are gone', errorSchema),
    416: inCbor('The offset lies past the end of this log', errorSchema),
  },
};

export const sendSchema = {
  summary: 'Send messages to a table',
  tags: ['stream'],
  params: addressSchema,
  consumes: [...ingestTypes],
  body: z.array(itemSchema).meta({ description: 'All of them are stored, or none' }),
  response: {
    200: inCbor(
      'Every message is stored durably',
      z.object({ accepted: z.int(), firstOffset: offsetSchema, lastOffset: offsetSchema }),
    ),
    ...errors,
    413: inCbor('Too many items, or too large', errorSchema),
    415: inCbor('Another content type or encoding', errorSchema),
  },
};
