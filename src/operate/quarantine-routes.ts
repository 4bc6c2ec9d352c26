import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Audit } from '../audit/audit.ts';
import { RATE_DEFAULT } from '../backfill/backfill-request.ts';
import { deviceIdSchema } from '../contract/messages.ts';
import { StreamError } from '../contract/stream-errors.ts';
import { rejectOtherMethods } from '../http/http-server.ts';
import { countParameter } from '../http/query-schemas.ts';
import { tagged } from '../http/send-tagged.ts';
import { formatInstant } from '../lib/time.ts';
import { addressSchema, devicesSchema, visibleDevices } from '../report/day-request.ts';
import type { LakeReader } from '../report/lake/lake-reader.ts';
import { formatShape } from '../report/rows/row-format.ts';
import type { Quarantine } from '../warehouse/list-quarantine.ts';
import type { AskOwner } from './ask-owner.ts';
import { registerAction } from './operator-action.ts';
import { type OperatorGuard, operatorErrors } from './operator-guard.ts';
import { quarantineSchema, retrySchema } from './quarantine-schema.ts';
import { type ListRows, sendList } from './send-list.ts';
import { startBackfill } from './start-backfill.ts';

const url = '/api/v1/orgs/:workgroupId/quarantine';
const SAMPLES_DEFAULT = 3;
const QUARANTINE_SAMPLES_MAX = 20;

const querySchema = z.object({
  devices: devicesSchema,
  samples: countParameter(QUARANTINE_SAMPLES_MAX).meta({
    description: `The maximum number of samples of each reason: ${SAMPLES_DEFAULT} by default. A sample has at most 512 bytes of its message`,
  }),
  ...formatShape,
});
const bodySchema = z
  .strictObject({
    device: deviceIdSchema.optional().meta({ description: 'Only series of this device, and no messages' }),
  })
  .nullish()
  .meta({ example: {} });

/** Messages and readings that were received and not used, by reason, and a request to try them again. */
export function registerQuarantineRoutes(
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
        summary: 'Quarantine',
        description:
          'Messages and readings that were received and not used, by reason, with samples, and series whose roll-up fails. A token of device groups sees those of its devices; messages that name no device are left out. Rows are the groups without samples.',
        querystring: querySchema,
        response: tagged(quarantineSchema, operatorErrors),
      },
    },
    async (request, reply) => {
      const { workgroup, devices } = guard(request, ['search:read'], { whole: false });
      const { devices: asked, samples = SAMPLES_DEFAULT } = request.query as z.output<typeof querySchema>;
      const chosen = visibleDevices(asked, { devices }, workgroup);
      const question = { ...(chosen && { devices: chosen }), samplesMax: samples };
      const answer = answerOf(await askOwner(workgroup.id, 'quarantineList', question));
      return sendList(request, reply, lake, answer, groupRows(answer));
    },
  );
  registerAction(app, deps, {
    url: `${url}/retry`,
    summary: 'Try again',
    description:
      'Computes series again whose roll-up has failed, and reads quarantined messages that can be decoded now, for example after a new version of Wattline. Needs `org:admin`, and is in the audit log.',
    body: bodySchema,
    answers: { 200: retrySchema },
    async run({ workgroup, body, record }) {
      const device = body?.device;
      record('quarantine.retried', device === undefined ? {} : { target: device });
      const { series } = await askOwner(workgroup.id, 'retry', { ...(device !== undefined && { device }) });
      if (device !== undefined) return { series, messages: 0, backfill: null };
      return { series, ...(await readAgain(askOwner, workgroup.id)) };
    },
  });
  rejectOtherMethods(app, url, ['GET']);
  rejectOtherMethods(app, `${url}/retry`, ['POST']);
}

/** @throws StreamError StorageUnavailable if a backfill runs; the series are tried again anyway */
async function readAgain(
  askOwner: AskOwner,
  workgroupId: string,
): Promise<{ messages: number; backfill: number | null }> {
  const request = { source: 'quarantine' as const, messagesPerSecond: RATE_DEFAULT };
  const { quarantined } = await askOwner(workgroupId, 'backfillPlan', { request });
  const messages = quarantined?.readable ?? 0;
  if (messages === 0) return { messages, backfill: null };
  try {
    return { messages, backfill: (await startBackfill(askOwner, workgroupId, request)).id };
  } catch (error) {
    if (!(error instanceof StreamError)) throw error;
    throw new StreamError(
      error.code,
      `failed series are computed again, and the messages are not read: ${error.message}`,
      error.details,
      error.retryAfterSeconds,
    );
  }
}

function groupRows({ groups }: z.output<typeof quarantineSchema>): ListRows {
  return {
    name: 'quarantine',
    columns: ['item', 'reason', 'items', 'devices', 'first_at', 'last_at'],
    rows: groups.map(({ kind, reason, count, devices, firstAt, lastAt }) => ({
      item: kind,
      reason,
      items: count,
      devices,
      first_at: firstAt,
      last_at: lastAt,
    })),
  };
}

function answerOf({ groups, setAside }: Quarantine): z.output<typeof quarantineSchema> {
  return {
    total: groups.reduce((sum, { items }) => sum + items, 0),
    groups: groups.map(({ kind, reason, items, devices, firstMs, lastMs, samples }) => ({
      kind,
      reason,
      count: items,
      devices,
      firstAt: formatInstant(firstMs),
      lastAt: formatInstant(lastMs),
      samples: samples.map(({ eventTimeMs, byteCount, ...sample }) => ({
        ...sample,
        eventTime: eventTimeMs === null ? null : formatInstant(eventTimeMs),
        bytes: byteCount,
      })),
    })),
    setAside: setAside.map(({ sinceMs, ...one }) => ({ ...one, since: formatInstant(sinceMs) })),
  };
}
