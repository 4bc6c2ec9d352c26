import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { WorkgroupConfig } from '../config/config.ts';
import { findDevice } from '../config/find-device.ts';
import { nameSchema } from '../contract/messages.ts';
import { StreamError, type StreamErrorDetails, unavailable } from '../contract/stream-errors.ts';
import { nearestText } from '../explain/explain-words.ts';
import {
  type ExplainArgs,
  type Explained,
  explainedSchema,
  nearestDaysSchema,
} from '../explain/explained-schema.ts';
import { answerOfOwner, OWNER_RETRY_SECONDS, type OwnerOutcome } from '../http/answer-of-owner.ts';
import { etagOf, matchesEtag } from '../http/etag.ts';
import { rejectOtherMethods } from '../http/http-server.ts';
import { once } from '../http/query-schemas.ts';
import { TerminalError, TransientError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { addressSchema, daySchema, quote, requireDevice } from './day-request.ts';
import { alternativesText, visibleNamed } from './known-devices.ts';
import type { Guard } from './report-guard.ts';
import { errorSchema, taggedAnswers } from './report-schemas.ts';

/** Asks the process that has the warehouse of a workgroup open. */
export type AskForExplanation = (
  workgroupId: string,
  args: ExplainArgs,
  signal: AbortSignal,
) => Promise<OwnerOutcome<Explained>>;

const url = '/api/v1/orgs/:workgroupId/daily-energy/explain';

const querySchema = z.object({
  device: z
    .string({ error: 'must be given, once' })
    .meta({ description: 'Device, by its id or its configured name', example: 'garage' }),
  day: daySchema.meta({ description: "Day in the workgroup's time zone", example: '2026-11-20' }),
  source: z
    .string(once)
    .pipe(nameSchema)
    .optional()
    .meta({ description: 'Only this source of the device. Default: all of them' }),
});

const BUSY_SECONDS = 2;

/** The explanation of a day of a device, from the warehouse itself: the JSON of `wattline explain --json`. */
export function registerExplainRoute(
  app: FastifyInstance,
  { explain, guard, logger }: { explain: AskForExplanation; guard: Guard; logger: Logger },
): void {
  app.get(
    url,
    {
      attachValidation: true,
      schema: {
        summary: 'Explanation of a day',
        description:
          'Everything from which the energy of a device on a day follows: used and rejected readings, events of the register, its index at both ends of the day, the limits, why the day was read from this field, its versions with their causes, and the written-out sum. Read from the warehouse by the worker that has it open; it explains one day at a time.',
        tags: ['report'],
        params: addressSchema,
        querystring: querySchema,
        response: {
          ...taggedAnswers(explainedSchema),
          404: errorSchema.extend({ nearestDays: nearestDaysSchema.optional() }),
        },
      },
    },
    async (request, reply) => {
      const startedMs = performance.now();
      const { workgroup, authorization } = await guard(request);
      const query = request.query as z.output<typeof querySchema>;
      const named = visibleNamed(authorization, workgroup);
      const device = findDevice({ devices: named }, query.device);
      const args = {
        ...query,
        device: device ?? requireDevice('device', query.device, authorization, workgroup),
      };
      const { devices: visible } = authorization;
      const unknown = () => unknownDevice(query.device, named, visible === 'all' ? [] : visible);
      if (visible !== 'all' && !visible.has(args.device)) throw unknown();

      const disconnected = new AbortController();
      reply.raw.once('close', () => disconnected.abort());
      let explained: Explained;
      try {
        explained = answerOfOwner(
          await explain(workgroup.id, args, disconnected.signal),
          workgroup.id,
          refusalOf,
        );
      } catch (error) {
        // The caller has gone.
        if (disconnected.signal.aborted) return reply.send();
        throw error;
      }
      if (explained.outcome === 'unknown_device') throw unknown();
      if (explained.outcome !== 'explained') throw missingError(explained, explained.outcome);
      const text = JSON.stringify(explained);
      const etag = etagOf(text);
      reply.header('ETag', etag).header('Cache-Control', 'private, no-cache').header('Vary', 'Authorization');
      if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send();
      const bytes = Buffer.from(text);
      const durationMs = Math.round(performance.now() - startedMs);
      logger.debug({ workgroup: workgroup.id, bytes: bytes.length, durationMs }, 'report.explain');
      return reply.type('application/json; charset=utf-8').send(bytes);
    },
  );
  rejectOtherMethods(app, url, ['GET']);
}

const busyMessages: Readonly<Record<string, string>> = {
  Busy: 'other days are being explained, one at a time; ask again in a moment',
  TooLong:
    'explaining this day took too long and was stopped; ask for one source of the device, or again when less is going on',
  NoAnswer: 'the worker has not answered in time; ask again in a moment',
};

/** The error for the caller, without details of processes and files. */
function refusalOf(error: Error): Error {
  const code = error instanceof TransientError || error instanceof TerminalError ? error.code : undefined;
  // An unexpected error of the worker becomes an internal error of this service too.
  if (code === undefined || code === 'Unexpected') return error;
  const message = busyMessages[code];
  if (message !== undefined) return unavailable(message, BUSY_SECONDS);
  return unavailable(
    'the worker cannot read its data just now; ask again in a moment',
    OWNER_RETRY_SECONDS,
    error,
  );
}

/**
 * The error for an unknown device. A device that the caller cannot see gets the same error, so that it stays
 * hidden.
 */
function unknownDevice(
  device: string,
  named: WorkgroupConfig['devices'],
  others: Iterable<string>,
): StreamError {
  return notFound(
    'device',
    `the device ${quote(device)} does not exist or has no energy; ${alternativesText(device, named, others)}`,
  );
}

function missingError({ text, nearestDays }: Explained, outcome: Explained['outcome']): StreamError {
  const parameter = outcome === 'unknown_source' ? 'source' : 'day';
  if (parameter === 'source') return notFound(parameter, text);
  const near = nearestText(nearestDays);
  return notFound(parameter, `${text}${near && `; ${near}`}`, { nearestDays });
}

function notFound(parameter: string, message: string, details: StreamErrorDetails = {}): StreamError {
  return new StreamError('NotFound', `${parameter}: ${message}`, { parameter, ...details });
}
