import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { StreamError } from '../contract/stream-errors.ts';
import { rejectOtherMethods } from '../http/http-server.ts';
import type { Logger } from '../lib/logger.ts';
import { formatInstant, type UtcMs } from '../lib/time.ts';
import {
  changeBound,
  dayChangesSchema,
  filesOfChanges,
  readDayChanges,
  totalChanges,
} from './day-changes.ts';
import { addressSchema, devicesSchema, visibleDevices } from './day-request.ts';
import { etagOf, matchesEtag } from './etag.ts';
import type { LakeReader } from './lake-reader.ts';
import type { Guard } from './report-guard.ts';
import { taggedAnswers } from './report-schemas.ts';

const url = '/api/v1/orgs/:workgroupId/daily-energy/changes';
const boundSchema = z.string({ error: 'must be given, once' });

const querySchema = z.object({
  since: boundSchema.meta({
    description:
      "Only changes since this time: a day in the workgroup's time zone, or an instant (ISO 8601 with a zone, or ms since 1970)",
    example: '2026-11-01',
  }),
  until: boundSchema
    .optional()
    .meta({ description: 'Up to the end of this day, or up to this instant (excluded). Default: now' }),
  provisional: z
    .literal('true', { error: 'must be "true", given once' })
    .optional()
    .meta({ description: 'With `true`, also changes of days that were not final yet' }),
  devices: devicesSchema,
});

/** Changes of reported days, which show how closed periods are restated. */
export function registerChangesRoute(
  app: FastifyInstance,
  { lake, guard, logger }: { lake: LakeReader; guard: Guard; logger: Logger },
): void {
  app.get(
    url,
    {
      attachValidation: true,
      schema: {
        summary: 'Changes of daily energy',
        description:
          'Every day of a device and source with a new version after it was final: its energy before and after, and the causes. Keep the instant of an answer, and use it as `since` of the next request.',
        tags: ['report'],
        params: addressSchema,
        querystring: querySchema,
        response: taggedAnswers(dayChangesSchema),
      },
    },
    async (request, reply) => {
      const { workgroup, authorization } = await guard(request);
      const parameters = request.query as z.output<typeof querySchema>;
      const sinceMs = boundOf(parameters.since, workgroup.timezone, 'since');
      const question = {
        sinceMs,
        untilMs:
          parameters.until === undefined ? undefined : boundOf(parameters.until, workgroup.timezone, 'until'),
        devices: visibleDevices(parameters.devices, authorization)?.sort(),
        withProvisional: parameters.provisional !== undefined,
      };
      if (question.untilMs !== undefined && question.untilMs <= sinceMs) {
        throw new StreamError('InvalidRequest', 'until: must be after since', { parameter: 'until' });
      }
      const generation = await lake.current(workgroup.id);
      const files = filesOfChanges(generation, sinceMs).map(({ sha256 }) => sha256);
      const etag = etagOf([question, question.devices ?? null, files]);
      reply.header('ETag', etag).header('Cache-Control', 'private, no-cache').header('Vary', 'Authorization');
      if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send();
      const changes = await readDayChanges(lake, generation, question);
      logger.debug({ workgroup: workgroup.id, days: changes.length }, 'report.day-changes');
      return {
        since: formatInstant(sinceMs),
        until: question.untilMs === undefined ? null : formatInstant(question.untilMs),
        totals: totalChanges(changes),
        changes,
      };
    },
  );
  rejectOtherMethods(app, url, ['GET']);
}

function boundOf(text: string, zone: string, parameter: 'since' | 'until'): UtcMs {
  const ms = changeBound(text, zone, parameter);
  if (ms !== undefined) return ms;
  throw new StreamError(
    'InvalidRequest',
    `${parameter}: must be a day such as 2026-11-20, or an instant with its zone such as 2026-11-20T13:05:00Z`,
    { parameter },
  );
}
