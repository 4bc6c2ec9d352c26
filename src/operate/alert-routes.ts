import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { conditionNames } from '../alerts/alert-conditions.ts';
import { SNOOZE_MS_MAX } from '../alerts/change-by-hand.ts';
import { ALERTS_LISTED_MAX } from '../alerts/list-alerts.ts';
import type { Audit } from '../audit/audit.ts';
import { rejectOtherMethods } from '../http/http-server.ts';
import { countParameter } from '../http/query-schemas.ts';
import { tagged } from '../http/send-tagged.ts';
import { MINUTE_MS } from '../lib/time.ts';
import { addressSchema } from '../report/day-request.ts';
import type { LakeReader } from '../report/lake/lake-reader.ts';
import { formatShape } from '../report/rows/row-format.ts';
import { alertRows } from './alert-rows.ts';
import { alertListSchema } from './alert-schemas.ts';
import type { AskOwner } from './ask-owner.ts';
import { registerAction } from './operator-action.ts';
import { type OperatorGuard, operatorErrors } from './operator-guard.ts';
import { sendList } from './send-list.ts';

const url = '/api/v1/orgs/:workgroupId/alerts';
const SNOOZE_MINUTES_MAX = SNOOZE_MS_MAX / MINUTE_MS;

const querySchema = z.strictObject({
  limit: countParameter(ALERTS_LISTED_MAX).meta({
    description: 'The maximum number of alerts. Default: 100',
  }),
  page: countParameter(ALERTS_LISTED_MAX).meta({ description: 'Default: 1' }),
  ...formatShape,
});
const condition = z.enum([...conditionNames, 'all']).meta({ description: 'A condition, or all' });
const snoozeSchema = z.strictObject({
  condition,
  minutes: z
    .int()
    .min(0)
    .max(SNOOZE_MINUTES_MAX)
    .meta({ description: 'Nothing of the condition is sent for this long; 0 ends a snooze' }),
});
const seenSchema = z.strictObject({
  condition,
  subject: z.string().max(1_024).optional().meta({ description: 'Default: all of the condition' }),
});

/** Open alerts, and the actions of people on them. */
export function registerAlertRoutes(
  app: FastifyInstance,
  deps: { guard: OperatorGuard; askOwner: AskOwner; audit: Audit; lake: LakeReader },
): void {
  const { guard, askOwner, lake } = deps;
  app.get(
    url,
    {
      attachValidation: true,
      schema: {
        tags: ['operate'],
        params: addressSchema,
        summary: 'Alerts',
        description:
          'Open alerts, snoozes, and the state of the channels. Empty if no channel is configured for the workgroup.',
        querystring: querySchema,
        response: tagged(alertListSchema, operatorErrors),
      },
    },
    async (request, reply) => {
      const { workgroup } = guard(request, ['search:read']);
      const { limit = 100, page = 1 } = request.query as z.output<typeof querySchema>;
      const list = await askOwner(workgroup.id, 'alertList', { offset: (page - 1) * limit, limit });
      return sendList(request, reply, lake, list, alertRows(list));
    },
  );
  registerAction(app, deps, {
    url: `${url}/snooze`,
    summary: 'Snooze alerts',
    description:
      'Sends nothing of a condition for a while. What still holds at the end is sent then. Needs `org:admin`, and is in the audit log.',
    body: snoozeSchema,
    answers: { 200: alertListSchema },
    run({ workgroup, actor, body: { condition: of, minutes }, record }) {
      record('alerts.snoozed', { target: of, data: { minutes } });
      const forMs = minutes * MINUTE_MS;
      return askOwner(workgroup.id, 'alertChange', { do: 'snooze', condition: of, forMs, by: actor });
    },
  });
  registerAction(app, deps, {
    url: `${url}/seen`,
    summary: 'Note that alerts were seen',
    description: 'Other people see that somebody cares. Needs `org:admin`, and is in the audit log.',
    body: seenSchema,
    answers: { 200: alertListSchema },
    run({ workgroup, actor, body: { condition: of, subject }, record }) {
      const data = subject === undefined ? {} : { subject };
      record('alerts.seen', { target: of, data });
      return askOwner(workgroup.id, 'alertChange', { do: 'see', condition: of, ...data, by: actor });
    },
  });
  rejectOtherMethods(app, url, ['GET']);
  rejectOtherMethods(app, `${url}/snooze`, ['POST']);
  rejectOtherMethods(app, `${url}/seen`, ['POST']);
}
