import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Audit } from '../audit/audit.ts';
import { RATE_DEFAULT } from '../backfill/backfill-request.ts';
import { makeBackfillRequest } from '../backfill/make-backfill-request.ts';
import type { WorkgroupConfig } from '../config/config.ts';
import { StreamError } from '../contract/stream-errors.ts';
import { rejectOtherMethods } from '../http/http-server.ts';
import { countParameter } from '../http/query-schemas.ts';
import { tagged } from '../http/send-tagged.ts';
import { addressSchema } from '../report/day-request.ts';
import type { LakeReader } from '../report/lake/lake-reader.ts';
import { errorSchema } from '../report/report-schemas.ts';
import { formatShape } from '../report/rows/row-format.ts';
import type { AskOwner } from './ask-owner.ts';
import { backfillAnswer, backfillRows, gapRows, gapsAnswer, planAnswer } from './backfill-answers.ts';
import {
  backfillPlanSchema,
  backfillsSchema,
  cancelledSchema,
  gapsSchema,
  startedBackfillSchema,
} from './backfill-schemas.ts';
import { registerAction } from './operator-action.ts';
import { type OperatorGuard, operatorErrors } from './operator-guard.ts';
import { sendList } from './send-list.ts';
import { listWithProgress, startBackfill } from './start-backfill.ts';

const root = '/api/v1/orgs/:workgroupId';
const LISTED_DEFAULT = 100;
const BACKFILLS_LISTED_MAX = 1_000;
const RATE_MAX = 1_000_000;
const TIME_CHARACTERS_MAX = 64;

const time = z.string().max(TIME_CHARACTERS_MAX);
const bodySchema = z
  .strictObject({
    source: z.enum(['stream', 'gaps', 'archive']).meta({
      description:
        'stream: messages that the upstream still has; gaps: the open gaps; archive: messages of the lake, for fields that were configured later',
    }),
    from: time.optional().meta({
      description:
        "The start: a day in the workgroup's zone, an ISO time with a zone, or ms since 1970. Not with gaps",
    }),
    to: time.optional().meta({ description: 'The end, not included. Default: the newest message' }),
    table: z.string().optional().meta({ description: 'Only this table. Not with gaps' }),
    messagesPerSecond: z
      .int()
      .min(1)
      .max(RATE_MAX)
      .default(RATE_DEFAULT)
      .meta({ description: 'How fast to read while the live reader runs' }),
  })
  .meta({ example: { source: 'stream', from: '2026-11-20T08:00:00Z', to: '2026-11-20T09:00:00Z' } });
const listQuerySchema = z.object({
  limit: countParameter(BACKFILLS_LISTED_MAX).meta({
    description: `The maximum number of backfills of the answer: ${LISTED_DEFAULT} by default`,
  }),
  ...formatShape,
});
const idParams = addressSchema.extend({
  id: z.string().regex(/^\d{1,9}$/, { error: 'must be the number of a backfill' }),
});

/** Gaps of the stream, and backfills: list, preview, start, cancel. */
export function registerBackfillRoutes(
  app: FastifyInstance,
  deps: { guard: OperatorGuard; askOwner: AskOwner; audit: Audit; lake: LakeReader },
): void {
  const { guard, askOwner, lake } = deps;
  const about = { tags: ['operate'], params: addressSchema };

  app.get(
    `${root}/gaps`,
    {
      attachValidation: true,
      schema: {
        ...about,
        summary: 'Gaps of the stream',
        description:
          'Ranges of the stream that could not be read, newest first, and what the upstream still has of them. Asks the upstream for each gap.',
        querystring: z.object(formatShape),
        response: tagged(gapsSchema, operatorErrors),
      },
    },
    async (request, reply) => {
      const { workgroup } = guard(request, ['search:read']);
      const answer = gapsAnswer(await askOwner(workgroup.id, 'backfillGaps', {}));
      return sendList(request, reply, lake, answer, gapRows(answer));
    },
  );
  app.get(
    `${root}/backfills`,
    {
      attachValidation: true,
      schema: {
        ...about,
        summary: 'Backfills',
        description: 'Backfills with their progress, newest first.',
        querystring: listQuerySchema,
        response: tagged(backfillsSchema, operatorErrors),
      },
    },
    async (request, reply) => {
      const { workgroup } = guard(request, ['search:read']);
      const { limit = LISTED_DEFAULT } = request.query as z.output<typeof listQuerySchema>;
      const { listed, running } = await listWithProgress(askOwner, workgroup.id);
      const backfills = listed.slice(0, limit).map((one) => backfillAnswer(one, running));
      return sendList(request, reply, lake, { backfills, total: listed.length }, backfillRows(backfills));
    },
  );
  registerAction(app, deps, {
    url: `${root}/backfills/preview`,
    summary: 'What a backfill would read',
    description: 'Plans a backfill and reads nothing. Needs `org:admin`.',
    body: bodySchema,
    answers: { 200: backfillPlanSchema },
    run: async ({ workgroup, body }) =>
      planAnswer(await askOwner(workgroup.id, 'backfillPlan', { request: requestOf(body, workgroup) })),
  });
  registerAction(app, deps, {
    url: `${root}/backfills`,
    summary: 'Start a backfill',
    description:
      'Starts a backfill, or continues an unfinished one with the same request. One runs at a time. The answer comes when it is planned; the list shows its progress. Needs `org:admin`, and is in the audit log.',
    body: bodySchema,
    answers: { 202: startedBackfillSchema },
    async run({ workgroup, body, reply, record }) {
      const backfill = requestOf(body, workgroup);
      record('backfill.requested', { target: backfill.source, data: { ...backfill } });
      return reply.code(202).send(await startBackfill(askOwner, workgroup.id, backfill));
    },
  });
  registerAction(app, deps, {
    method: 'DELETE',
    url: `${root}/backfills/:id`,
    params: idParams,
    summary: 'Cancel a backfill',
    description:
      'Messages that have landed stay. Needs `org:admin`, and is in the audit log. 404 if it does not exist or has ended.',
    answers: { 200: cancelledSchema, 404: errorSchema },
    async run({ workgroup, params, record }) {
      const id = Number((params as z.output<typeof idParams>).id);
      record('backfill.cancelled', { target: String(id) });
      await askOwner(workgroup.id, 'backfillCancel', { backfillId: id });
      return { id, state: 'cancelled' as const };
    },
  });
  rejectOtherMethods(app, `${root}/gaps`, ['GET']);
  rejectOtherMethods(app, `${root}/backfills`, ['GET', 'POST']);
  rejectOtherMethods(app, `${root}/backfills/preview`, ['POST']);
  rejectOtherMethods(app, `${root}/backfills/:id`, ['DELETE']);
}

function requestOf(body: z.output<typeof bodySchema>, workgroup: WorkgroupConfig) {
  const made = makeBackfillRequest(body, workgroup);
  if ('request' in made) return made.request;
  const { path, message } = made.problems[0]!;
  throw new StreamError('InvalidRequest', `${path}: ${message}`, { parameter: path });
}
