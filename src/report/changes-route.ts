import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { StreamError } from '../contract/stream-errors.ts';
import { etagOf } from '../http/etag.ts';
import { rejectOtherMethods } from '../http/http-server.ts';
import { tryParseJson } from '../lib/json-text.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, formatInstant, type UtcMs } from '../lib/time.ts';
import { changeRows } from './change-rows.ts';
import {
  CHANGES_MAX,
  changeBound,
  type DayChange,
  dayChangesSchema,
  filesOfChanges,
  readDayChanges,
  totalChanges,
} from './day-changes.ts';
import { addressSchema, devicesSchema, requireKnownDevices, visibleDevices } from './day-request.ts';
import type { LakeReader } from './lake/lake-reader.ts';
import { afterShape } from './lake/wait-for-offset.ts';
import type { Guard } from './report-guard.ts';
import { taggedAnswers } from './report-schemas.ts';
import { formatShape } from './rows/row-format.ts';
import { jsonParts, sendParts } from './rows/send-parts.ts';

const url = '/api/v1/orgs/:workgroupId/daily-energy/changes';
const positionSchema = z.tuple([z.string(), z.string(), z.string()]);
const boundSchema = z.string({ error: 'must be given, once' });

const querySchema = z.object({
  since: boundSchema.meta({
    description:
      "Only changes since this time: a day in the workgroup's time zone, `today`, `yesterday`, or an instant (ISO 8601 with a zone, or ms since 1970)",
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
  limit: z
    .string({ error: 'must be given once' })
    .regex(/^\d{1,6}$/, { error: `must be a number from 1 to ${CHANGES_MAX}` })
    .transform(Number)
    .refine((value) => value >= 1 && value <= CHANGES_MAX, {
      error: `must be a number from 1 to ${CHANGES_MAX}`,
    })
    .optional()
    .meta({ description: `The maximum number of changes of the answer: ${CHANGES_MAX} by default` }),
  page: z
    .string({ error: 'must be given once' })
    .transform((text) => changePositionOf(text))
    .refine((position) => position !== undefined, { error: 'must be the `next` of an answer' })
    .optional()
    .meta({ description: 'The next page: `next` of the answer before' }),
  ...formatShape,
  ...afterShape,
});

/** Changes of reported days, which show how closed periods are restated. */
export function registerChangesRoute(
  app: FastifyInstance,
  { lake, guard, clock, logger }: { lake: LakeReader; guard: Guard; clock: Clock; logger: Logger },
): void {
  app.get(
    url,
    {
      attachValidation: true,
      schema: {
        summary: 'Changes of daily energy',
        description:
          'Every day of a device and source with a new version after it was final: its energy before and after, and the causes. Keep the instant of an answer, and use it as `since` of the next request. With `limit` the changes have pages, and the totals are those of all pages; rows have the header `Wattline-Next` instead of `next`.',
        tags: ['report'],
        params: addressSchema,
        querystring: querySchema,
        response: taggedAnswers(dayChangesSchema),
      },
    },
    async (request, reply) => {
      const { workgroup, authorization } = await guard(request);
      const parameters = request.query as z.output<typeof querySchema>;
      const context = { zone: workgroup.timezone, nowMs: clock.now() };
      const sinceMs = boundOf(parameters.since, context, 'since');
      const question = {
        sinceMs,
        untilMs: parameters.until === undefined ? undefined : boundOf(parameters.until, context, 'until'),
        devices: visibleDevices(parameters.devices, authorization, workgroup)?.sort(),
        withProvisional: parameters.provisional !== undefined,
      };
      if (question.untilMs !== undefined && question.untilMs <= sinceMs) {
        throw new StreamError('InvalidRequest', 'until: must be after since', { parameter: 'until' });
      }
      const generation = await lake.newestGeneration(workgroup.id);
      await requireKnownDevices('devices', question.devices, { lake, generation, workgroup });
      const files = filesOfChanges(generation, sinceMs).map(({ sha256 }) => sha256);
      const { limit, page } = parameters;
      const etag = etagOf([question, question.devices ?? null, files, limit, page]);
      const read = (signal: AbortSignal) => readDayChanges(lake, generation, question, signal);
      return sendParts(request, reply, lake, {
        etag,
        async read(signal) {
          const all = await read(signal);
          const { changes, next } = pageOfChanges(all, { limit, after: page });
          return jsonParts({
            since: formatInstant(sinceMs),
            until: question.untilMs === undefined ? null : formatInstant(question.untilMs),
            totals: totalChanges(all),
            changes,
            next,
          });
        },
        rows: {
          name: `changes_${formatInstant(sinceMs).slice(0, 10)}`,
          facts: workgroup.devices,
          select: async (signal) => {
            const { changes, next } = pageOfChanges(await read(signal), { limit, after: page });
            if (next !== null) reply.header('Wattline-Next', next);
            return changeRows(changes, workgroup);
          },
        },
        onAnswered: (fields) => logger.debug({ workgroup: workgroup.id, ...fields }, 'report.day-changes'),
      });
    },
  );
  rejectOtherMethods(app, url, ['GET']);
}

type ChangePosition = readonly [day: string, device: string, source: string];

/** The changes of a page. They are sorted by day, device and source. `next` is null on the last page. */
export function pageOfChanges(
  all: readonly DayChange[],
  { limit = CHANGES_MAX, after }: { limit: number | undefined; after: ChangePosition | undefined },
): { changes: readonly DayChange[]; next: string | null } {
  const rest = after ? all.filter((change) => isAfter(change, after)) : all;
  const changes = rest.slice(0, limit);
  const last = changes.at(-1);
  const next = last && rest.length > changes.length ? textOf(last) : null;
  return { changes, next };
}

function isAfter(change: DayChange, [day, device, source]: ChangePosition): boolean {
  if (change.day !== day) return change.day > day;
  if (change.device !== device) return change.device > device;
  return Buffer.compare(Buffer.from(change.source), Buffer.from(source)) > 0;
}

function textOf({ day, device, source }: DayChange): string {
  return Buffer.from(JSON.stringify([day, device, source])).toString('base64url');
}

/** @returns undefined if the text is not of `textOf` */
export function changePositionOf(text: string): ChangePosition | undefined {
  return positionSchema.safeParse(tryParseJson(Buffer.from(text, 'base64url').toString())).data;
}

function boundOf(text: string, at: { zone: string; nowMs: UtcMs }, parameter: 'since' | 'until'): UtcMs {
  const ms = changeBound(text, { ...at, end: parameter });
  if (ms !== undefined) return ms;
  throw new StreamError(
    'InvalidRequest',
    `${parameter}: must be a day such as 2026-11-20, today or yesterday, or an instant with its zone such as 2026-11-20T13:05:00Z`,
    { parameter },
  );
}
