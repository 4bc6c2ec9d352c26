import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { etagOf, matchesEtag } from '../http/etag.ts';
import { rejectOtherMethods } from '../http/http-server.ts';
import type { Logger } from '../lib/logger.ts';
import { addressSchema } from './day-request.ts';
import { visibleMeters } from './meter-request.ts';
import type { Guard } from './report-guard.ts';
import { taggedAnswers } from './report-schemas.ts';
import { visibleSites } from './visible-sites.ts';

const url = '/api/v1/orgs/:workgroupId/workgroup';

export const workgroupAnswerSchema = z
  .object({
    workgroup: z.string(),
    timezone: z.string().meta({ description: 'IANA time zone of its days' }),
    meters: z
      .array(z.object({ code: z.string(), name: z.string().optional() }))
      .meta({ description: 'The meters that the token can see' }),
    sites: z
      .array(
        z.object({
          name: z.string(),
          meters: z.number().int().meta({ description: 'Number of its meters' }),
          devices: z.number().int().meta({ description: 'Number of its devices; a balance needs some' }),
        }),
      )
      .meta({ description: 'The sites whose members the token can all see' }),
  })
  .meta({
    description: 'A workgroup',
    example: {
      workgroup: 'home',
      timezone: 'Europe/Paris',
      meters: [{ code: 'GRID-1' }],
      sites: [{ name: 'roof', meters: 1, devices: 4 }],
    },
  });

/** The settings of a workgroup that a reader of its reports needs. */
export function registerWorkgroupRoute(
  app: FastifyInstance,
  { guard, logger }: { guard: Guard; logger: Logger },
): void {
  app.get(
    url,
    {
      attachValidation: true,
      schema: {
        summary: 'Workgroup',
        description: 'The time zone of a workgroup, its meters and its sites.',
        tags: ['report'],
        params: addressSchema,
        response: taggedAnswers(workgroupAnswerSchema),
      },
    },
    async (request, reply) => {
      const { workgroup, authorization } = await guard(request);
      const meters = visibleMeters(workgroup.meters, authorization);
      const sites = visibleSites(workgroup, authorization);
      const answer = {
        workgroup: workgroup.id,
        timezone: workgroup.timezone,
        meters: meters.map(({ code, name }) => ({ code, ...(name !== undefined && { name }) })),
        sites: sites.map((site) => ({
          name: site.name,
          meters: site.meters.length,
          devices: site.devices.length,
        })),
      };
      const etag = etagOf(answer);
      reply.header('ETag', etag).header('Cache-Control', 'private, no-cache').header('Vary', 'Authorization');
      if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send();
      logger.debug({ workgroup: workgroup.id }, 'report.workgroup');
      return answer;
    },
  );
  rejectOtherMethods(app, url, ['GET']);
}
