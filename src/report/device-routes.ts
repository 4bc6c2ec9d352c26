import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { rejectOtherMethods } from '../http/http-server.ts';
import type { Logger } from '../lib/logger.ts';
import { formatInstant, type UtcMs } from '../lib/time.ts';
import { addressSchema, devicesSchema, visibleDevices } from './day-request.ts';
import { deviceStates, readDeviceStates } from './device-states.ts';
import { etagOf, matchesEtag } from './etag.ts';
import type { LakeReader } from './lake-reader.ts';
import type { Guard } from './report-guard.ts';
import { deviceStatusSchema, taggedAnswers } from './report-schemas.ts';

const url = '/api/v1/orgs/:workgroupId/device-status';

const querySchema = z.object({
  state: z
    .enum(deviceStates, { error: `must be one of ${deviceStates.join(', ')}, given once` })
    .optional()
    .meta({ description: 'Only devices in this state' }),
  devices: devicesSchema,
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
      const visible = visibleDevices(devices, authorization);
      const generation = await lake.current(workgroup.id);
      const files = generation?.files('device_state').map(({ sha256 }) => sha256);
      const etag = etagOf([state, visible?.toSorted(), files, workgroup.devices]);
      reply.header('ETag', etag).header('Cache-Control', 'private, no-cache').header('Vary', 'Authorization');
      if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send();

      const chosen = visible && new Set(visible);
      const found = (await readDeviceStates(lake, generation, workgroup)).filter(
        (one) => (state === undefined || one.state === state) && (!chosen || chosen.has(one.device)),
      );
      logger.debug({ workgroup: workgroup.id, devices: found.length }, 'report.device-status');
      return Object.fromEntries(
        found.map(({ device, name, state: current, sinceMs, reason, lastSeenMs }) => [
          device,
          {
            ...(name !== undefined && { name }),
            state: current,
            since: instantOf(sinceMs),
            reason,
            lastSeen: instantOf(lastSeenMs),
          },
        ]),
      );
    },
  );
  rejectOtherMethods(app, url, ['GET']);
}

function instantOf(ms: UtcMs | null): string | null {
  return ms === null ? null : formatInstant(ms);
}
