import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { preferredType } from '../../http/accept-header.ts';
import { type RowFormat, rowFormats } from './copy-rows.ts';

type AnswerFormat = 'json' | RowFormat;

const answerFormats = ['json', ...rowFormats] as const;

/** The parameter of every report that is also answered as rows. */
export const formatShape = {
  format: z
    .enum(answerFormats, { error: `must be one of ${answerFormats.join(', ')}, given once` })
    .optional()
    .meta({
      description:
        'Format of the answer: `json`, or long rows as `csv`, `ndjson` or `parquet`. Default: what the header `Accept` prefers, otherwise `json`',
      example: 'csv',
    }),
};

export const contentTypes: Readonly<Record<AnswerFormat, string>> = {
  json: 'application/json; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  ndjson: 'application/x-ndjson; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
};

/** What the header `Accept` can name. The first one is the default. */
const acceptedTypes = {
  'application/json; charset=utf-8': 'json',
  'text/csv; charset=utf-8; header=present': 'csv',
  'application/csv; charset=utf-8; header=present': 'csv',
  'application/x-ndjson; charset=utf-8': 'ndjson',
  'application/ndjson; charset=utf-8': 'ndjson',
  'application/jsonl; charset=utf-8': 'ndjson',
  'application/vnd.apache.parquet': 'parquet',
  'application/x-parquet': 'parquet',
} as const satisfies Record<string, AnswerFormat>;

/**
 * The format of an answer: the parameter `format`, otherwise the best of `Accept`. It is JSON if the caller
 * accepts none of the formats.
 */
export function formatOf(request: FastifyRequest): AnswerFormat {
  const { format } = request.query as { format?: AnswerFormat };
  return format ?? preferredFormat(request.headers.accept);
}

/** The format that a header `Accept` prefers. */
export function preferredFormat(accept: string | undefined): AnswerFormat {
  const type = preferredType(accept, Object.keys(acceptedTypes) as Array<keyof typeof acceptedTypes>);
  return type === undefined ? 'json' : acceptedTypes[type];
}
