import { rmSync } from 'node:fs';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Access } from '../access/access.ts';
import { admit, type Gate } from '../access/admit.ts';
import { actorOf, type Grant } from '../access/grant.ts';
import type { WorkgroupConfig } from '../config/config.ts';
import type { Workgroups } from '../config/workgroups.ts';
import { StreamError, unavailable } from '../contract/stream-errors.ts';
import { answerOfOwner, OWNER_RETRY_SECONDS, type OwnerOutcome } from '../http/answer-of-owner.ts';
import { authenticationOf } from '../http/http-server.ts';
import { perRequest } from '../http/per-request.ts';
import { errorCode, errorMessage, isRetryable, NOT_IN_BUCKET } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Clock } from '../lib/time.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { createBodyReader } from './body-reader.ts';
import type { TextFormat, UploadTopic } from './read-upload.ts';
import { type LineProblem, RefusedFile } from './refusals.ts';
import type { StoreOutcome } from './store-upload.ts';
import type { TakeRequest } from './take-upload.ts';
import { uploadOptionsSchema } from './upload-options.ts';

/** Asks the process that has the warehouse of a workgroup open to store an upload. */
export type AskToTake = (workgroupId: string, request: TakeRequest) => Promise<OwnerOutcome<StoreOutcome>>;

interface UploadRoutesOptions extends Pick<Gate, 'audit'> {
  dataDir: string;
  workgroups: Pick<Workgroups, 'get'>;
  take: AskToTake;
  /** See `Access`. */
  recheck: Access['recheck'];
  clock: Clock;
  logger: Logger;
}

/** Larger files need several requests or the command line. */
const BODY_BYTES_MAX = 2 * MEBIBYTE;

const formats: Readonly<Record<string, TextFormat>> = {
  'text/csv': 'csv',
  'application/x-ndjson': 'json',
  'application/json': 'json',
};

const routes = [
  {
    path: 'meter-data',
    topic: 'meter-data',
    summary: 'Upload meter data',
    description:
      'Readings of meters: energy by intervals (meter_code, interval_start, interval_end, energy_kwh) or values of registers (meter_code, time, value_kwh).',
    example:
      'meter_code,interval_start,interval_end,energy_kwh\nGRID-1,2026-05-17T13:00+02:00,2026-05-17T13:15+02:00,1.25\n',
  },
  {
    path: 'budget-data',
    topic: 'budget',
    summary: 'Upload budgets',
    description:
      'Expected energy of meters (meter_code, period, energy_kwh, scenario), by years (2026), months (2026-05), days (2026-05-17) or from period_start to period_end.',
    example: 'meter_code,period,energy_kwh,scenario\nPV,2026-05,1850,P50\n',
  },
] as const satisfies ReadonlyArray<{
  path: string;
  topic: UploadTopic;
  summary: string;
  description: string;
  /** A body. */
  example: string;
}>;

const whole = `Body: CSV with names of columns, NDJSON, or a JSON array of objects, up to ${BODY_BYTES_MAX / MEBIBYTE} MiB. It is stored as a whole or not at all. If it is refused, all wrong lines are listed. Uploading the same rows again changes nothing. Later values replace earlier ones.`;

const flag = z
  .enum(['true', 'false'], { error: 'must be "true" or "false"' })
  .optional()
  .transform((text) => text === 'true');
const querySchema = uploadOptionsSchema.extend({
  name: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .meta({ description: 'Name in the list of uploads. Default: http', example: 'may.csv' }),
  again: flag.meta({ description: 'Makes rows count again that were replaced by a later upload' }),
  dryRun: flag.meta({ description: 'Checks the body and stores nothing' }),
});

/** Only for the documentation. The body is read as bytes, so that all problems are reported at once. */
const bodySchema = (example: string) => z.any().meta({ description: 'Rows with names of columns', example });

const answerSchema = z.object({
  outcome: z.enum(['stored', 'stored-before', 'checked']).meta({
    description:
      'stored; stored-before: the same rows were already stored, nothing was done; checked: a dry run',
  }),
  accepted: z.number().int().meta({ description: 'Rows. For hours of a budget: days' }),
  stored: z.number().int().optional().meta({ description: 'New or changed rows' }),
  unchanged: z.number().int().optional().meta({ description: 'Rows that were already known' }),
  replaced: z.number().int().optional().meta({ description: 'Rows of earlier uploads that no longer count' }),
  revision: z.number().int().optional().meta({ description: 'The highest revision of its rows' }),
  uploadId: z.number().int().optional(),
});
const errorSchema = z.object({
  error: z.string(),
  message: z.string(),
  status: z.number().int(),
  retryable: z.boolean(),
  parameter: z.string().optional(),
  problems: z
    .array(z.object({ line: z.number().int(), column: z.string().optional(), message: z.string() }))
    .optional()
    .meta({ description: 'The first 100 problems of the body, by line; line 0 is the whole body' }),
  problemCount: z.number().int().optional(),
});

/** `PUT .../meter-data` and `PUT .../budget-data`. The report serves other methods at these addresses. */
export function registerUploadRoutes(app: FastifyInstance, options: UploadRoutesOptions): void {
  const { workgroups } = options;
  const gate = { ...options, groupsOf: (id: string) => workgroups.get(id)?.deviceGroups };

  async function guard(request: FastifyRequest): Promise<{ workgroup: WorkgroupConfig; grant: Grant }> {
    const { workgroupId } = request.params as { workgroupId: string };
    const { devices, grant } = admit(gate, authenticationOf(request), workgroupId, ['data:write']);
    if (devices !== 'all')
      throw new StreamError(
        'InsufficientScope',
        'a token that is restricted to device groups cannot upload data of meters; use one without device groups',
        {
          required: ['data:write'],
        },
      );
    formatOf(request);
    return { workgroup: workgroups.get(workgroupId)!, grant };
  }
  const admitted = perRequest<Awaited<ReturnType<typeof guard>>>();

  app.register(async (scope) => {
    const reader = createBodyReader();
    scope.addHook('onClose', () => reader.close());
    scope.removeAllContentTypeParsers();
    for (const type of Object.keys(formats))
      scope.addContentTypeParser(
        type,
        { parseAs: 'buffer', bodyLimit: BODY_BYTES_MAX },
        (_request, body, done) => done(null, body),
      );
    for (const { path, topic, summary, description, example } of routes) {
      scope.put(
        `/api/v1/orgs/:workgroupId/${path}`,
        {
          attachValidation: true,
          bodyLimit: BODY_BYTES_MAX,
          config: { largerBodies: `Upload a larger file with "wattline ${topic} put"` },
          // Checked before the body arrives.
          onRequest: async (request) => admitted.set(request, await guard(request)),
          schema: {
            summary,
            description: `${description} ${whole}`,
            tags: ['report'],
            consumes: Object.keys(formats),
            body: bodySchema(example),
            params: z.object({ workgroupId: z.string().meta({ description: 'Workgroup' }) }),
            querystring: querySchema,
            response: {
              200: answerSchema,
              400: errorSchema.meta({
                description:
                  'A parameter is unknown, empty, given twice or wrong (see `parameter`), or the body is wrong (see `problems`). Nothing was stored',
              }),
              401: errorSchema,
              403: errorSchema,
              413: errorSchema,
              415: errorSchema,
              429: errorSchema,
              503: errorSchema,
            },
          },
        },
        async (request, reply) => {
          const { workgroup, grant } = admitted.get(request);
          if (request.validationError) throw request.validationError;
          const { name = 'http', again, dryRun, ...said } = request.query as z.output<typeof querySchema>;
          const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
          const { rows, path } = await reader
            .read(
              {
                bytes,
                format: formatOf(request),
                upload: { topic, name, meters: workgroup.meters, options: said },
                dataDir: dryRun ? undefined : options.dataDir,
                nowMs: options.clock.now(),
              },
              workgroup.id,
            )
            .catch(explainRefusal);
          reply.header('Cache-Control', 'no-store');
          if (path === undefined) return { outcome: 'checked', accepted: rows };
          try {
            // A body waits for earlier bodies, and meanwhile its token can be revoked.
            options.recheck(grant);
            const taken = { path, name, actor: actorOf(grant), again, requestId: request.id };
            const outcome = await options.take(workgroup.id, taken);
            return describe(answerOfOwner(outcome, workgroup.id, refusalOf));
          } finally {
            rmSync(path, { force: true });
          }
        },
      );
    }
  });
}

/** A missing type counts as CSV, and its empty body is refused. @throws StreamError UnsupportedMediaType */
function formatOf({ headers }: FastifyRequest): TextFormat {
  const type = (headers['content-type'] ?? 'text/csv').split(';')[0]!.trim().toLowerCase();
  const encoding = headers['content-encoding'] ?? 'identity';
  const format = Object.hasOwn(formats, type) ? formats[type] : undefined;
  if (format === undefined)
    throw new StreamError('UnsupportedMediaType', `Content-Type: send ${Object.keys(formats).join(' or ')}`);
  if (encoding !== 'identity')
    throw new StreamError('UnsupportedMediaType', 'Content-Encoding: send the body uncompressed');
  return format;
}

function explainRefusal(error: unknown): never {
  throw error instanceof RefusedFile ? refusal(error.lines, error.count) : error;
}

function refusal(problems: readonly LineProblem[], problemCount: number): StreamError {
  const [{ line, column, message } = { line: 0, message: '' }] = problems as [LineProblem?];
  const where = [line > 0 && `line ${line}`, column && `column "${column}"`].filter(Boolean).join(', ');
  const more = problemCount > 1 ? ` (and ${problemCount - 1} more)` : '';
  return new StreamError('InvalidRequest', `nothing was stored: ${where}${where && ': '}${message}${more}`, {
    problems: [...problems],
    problemCount,
  });
}

function refusalOf(error: Error): Error {
  if (!isRetryable(error)) return error;
  const message =
    errorCode(error) === NOT_IN_BUCKET
      ? error.message
      : 'the worker cannot store the upload now; send it again in a moment';
  return unavailable(message, OWNER_RETRY_SECONDS, new Error(errorMessage(error)));
}

function describe(outcome: StoreOutcome): z.output<typeof answerSchema> {
  switch (outcome.kind) {
    case 'stored': {
      const { kind, ...counts } = outcome;
      return { outcome: kind, ...counts };
    }
    case 'stored-before': {
      const { kind, accepted, revision, uploadId } = outcome;
      return { outcome: kind, accepted, revision, uploadId };
    }
    case 'refused':
      throw refusal(outcome.problems, outcome.count);
    default:
      return outcome satisfies never;
  }
}
