import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { etagOf } from '../http/etag.ts';
import { rejectOtherMethods } from '../http/http-server.ts';
import type { Logger } from '../lib/logger.ts';
import { formatInstantOrNull } from '../lib/time.ts';
import { addressSchema, devicesSchema, requireKnownDevices, visibleDevices } from './day-request.ts';
import { type DeviceState, deviceStates, readDeviceStates } from './device-states.ts';
import type { LakeReader } from './lake/lake-reader.ts';
import { afterShape } from './lake/wait-for-offset.ts';
import type { Guard } from './report-guard.ts';
import { deviceStatusSchema, taggedAnswers } from './report-schemas.ts';
import { formatShape } from './rows/row-format.ts';
import { listedRows, type ReportRows } from './rows/row-select.ts';
import { jsonParts, sendParts } from './rows/send-parts.ts';

const url = '/api/v1/orgs/:workgroupId/device-status';

const querySchema = z.object({
  state: z
    .enum(deviceStates, { error: `must be one of ${deviceStates.join(', ')}, given once` })
    .optional()
    .meta({ description: 'Only devices in this state' }),
  devices: devicesSchema,
  ...formatShape,
  ...afterShape,
});

/** The current state of each device, since when, and why. */
export function registerDeviceStatusRoute(
  app: FastifyInstance,
  { lake, guard, logger }: { lake: LakeReader; guard: Guard; logger: Logger },
): void {
  app.get(
    url,
    {
      attachValidation: true,
      schema: {
        summary: 'Device status',
        description:
          'Which devices are online and offline, since when and why, and the time of the last message of each. It follows the published data, which is seconds behind the stream.',
        tags: ['report'],
        params: addressSchema,
        querystring: querySchema,
        response: taggedAnswers(deviceStatusSchema),
      },
    },
    async (request, reply) => {
      const { workgroup, authorization } = await guard(request);
      const { state, devices } = request.query as z.output<typeof querySchema>;
      const visible = visibleDevices(devices, authorization, workgroup);
      const generation = await lake.newestGeneration(workgroup.id);
      await requireKnownDevices('devices', visible, { lake, generation, workgroup });
      const files = generation?.files('device_state').map(({ sha256 }) => sha256);
      const etag = etagOf([state, visible?.toSorted(), files, workgroup.devices]);
      const chosen = visible && new Set(visible);
      const read = async (signal: AbortSignal) =>
        (await readDeviceStates(lake, generation, workgroup, signal)).filter(
          (device) =>
            (state === undefined || device.state === state) && (!chosen || chosen.has(device.device)),
        );
      return sendParts(request, reply, lake, {
        etag,
        read: async (signal) =>
          jsonParts(Object.fromEntries((await read(signal)).map((one) => [one.device, memberOf(one)]))),
        rows: {
          name: 'device-status',
          select: async (signal) => deviceStateRows(await read(signal)),
        },
        onAnswered: (fields) => logger.debug({ workgroup: workgroup.id, ...fields }, 'report.device-status'),
      });
    },
  );
  rejectOtherMethods(app, url, ['GET']);
}

function memberOf({ name, state, sinceMs, reason, lastSeenMs }: DeviceState) {
  return {
    ...(name !== undefined && { name }),
    state,
    since: formatInstantOrNull(sinceMs),
    reason,
    lastSeen: formatInstantOrNull(lastSeenMs),
  };
}

function deviceStateRows(states: readonly DeviceState[]): ReportRows {
  return listedRows(
    {
      columns: ['device', 'device_name', 'state', 'since', 'reason', 'last_seen'],
      order: ['device'],
    },
    states.map(({ device, name = null, state, sinceMs, reason, lastSeenMs }) => ({
      device,
      device_name: name,
      state,
      since: formatInstantOrNull(sinceMs),
      reason,
      last_seen: formatInstantOrNull(lastSeenMs),
    })),
  );
}
