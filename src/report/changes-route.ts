import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { StreamError } from '../contract/stream-errors.ts';
import { rejectOtherMethods } from '../http/http-server.ts';
import type { Logger } from '../lib/logger.ts';
import { formatInstant, type UtcMs } from '../lib/time.ts';
import { changeRows } from './change-rows.ts';
import {
  changeBound,
  dayChangesSchema,
  filesOfChanges,
  readDayChanges,
  totalChanges,
} from './day-changes.ts';
import { addressSchema, devicesSchema, visibleDevices } from './day-request.ts';
import { etagOf } from './etag.ts';
import type { LakeReader } from './lake-reader.ts';
import type { Guard } from './report-guard.ts';
import { taggedAnswers } from './report-schemas.ts';
import { formatShape } from './row-format.ts';
import { jsonParts, sendParts } from './send-parts.ts';
import { afterShape } from './wait-for-offset.ts';

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
  ...formatShape,
  ...afterShape,
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
        devices: visibleDevices(parameters.devices, authorization, workgroup)?.sort(),
        withProvisional: parameters.provisional !== undefined,
      };
      if (question.untilMs !== undefined && question.untilMs <= sinceMs) {
        throw new StreamError('InvalidRequest', 'until: must be after since', { parameter: 'until' });
      }
      const generation = await lake.current(workgroup.id);
      const files = filesOfChanges(generation, sinceMs).map(({ sha256 }) => sha256);
      const etag = etagOf([question, question.devices ?? null, files]);
      const read = (signal: AbortSignal) => readDayChanges(lake, generation, question, signal);
      return sendParts(request, reply, lake, {
        etag,
        async read(signal) {
          const changes = await read(signal);
          return jsonParts({
            since: formatInstant(sinceMs),
            until: question.untilMs === undefined ? null : formatInstant(question.untilMs),
            totals: totalChanges(changes),
            changes,
          });
        },
        rows: {
          name: `changes_${formatInstant(sinceMs).slice(0, 10)}`,
          facts: workgroup.devices,
          select: async (signal) => changeRows(await read(signal), workgroup),
        },
        told: (fields) => logger.debug({ workgroup: workgroup.id, ...fields }, 'report.day-changes'),
      });
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
