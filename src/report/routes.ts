import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Access } from '../access/access.ts';
import { authorize, workgroupForbidden } from '../access/authorize.ts';
import { bearerToken } from '../access/bearer.ts';
import type { WorkgroupConfig } from '../config.ts';
import { rejectOtherMethods } from '../http.ts';
import type { Log } from '../log.ts';
import type { Clock } from '../time.ts';
import { type DailyEnergyQuery, dailyEnergyJson, filesOfRange } from './daily-energy.ts';
import { etagOf, matchesEtag } from './etag.ts';
import type { Generation, LakeReader } from './lake.ts';
import { type DailyEnergyParameters, dailyEnergyQuery, dailyEnergyQuerySchema } from './request.ts';
import { createDeviceSources, type TotalSources, totalSourcesOf } from './total-sources.ts';

export interface ReportDeps {
  lake: LakeReader;
  access: Pick<Access, 'authenticate'>;
  workgroups: readonly WorkgroupConfig[];
  clock: Clock;
  log: Log;
}

const addressSchema = z.object({ workgroupId: z.string().meta({ description: 'Workgroup' }) });
type Address = z.output<typeof addressSchema>;

const dailyEnergySchema = z
  .record(
    z.string().meta({ description: 'Day, YYYY-MM-DD' }),
    z.record(z.string().meta({ description: '`<deviceId>` or `<deviceId>.<source>`' }), z.number().int()),
  )
  .meta({
    description: 'Energy in Wh by day and series; every day of the range has a key',
    example: { '2026-11-20': { '0b0e7c1e-0000-4000-8000-000000000001': 12_345 } },
  });

const errorSchema = z.object({
  error: z.string(),
  message: z.string(),
  status: z.number().int(),
  retryable: z.boolean(),
  parameter: z.string().optional(),
});

/** The report over the published lake: `GET /api/v1/orgs/{workgroupId}/daily-energy`. */
export function registerReportRoutes(app: FastifyInstance, deps: ReportDeps): void {
  const { lake, access, clock, log } = deps;
  const workgroups = new Map(deps.workgroups.map((workgroup) => [workgroup.id, workgroup]));
  const deviceSources = createDeviceSources(lake);
  const url = '/api/v1/orgs/:workgroupId/daily-energy';

  app.get(
    url,
    {
      // Who may not ask hears nothing of what is wrong with the question.
      attachValidation: true,
      schema: {
        summary: 'Daily energy',
        description: 'Energy in Wh for each day, by device or by device and source.',
        tags: ['report'],
        params: addressSchema,
        querystring: dailyEnergyQuerySchema,
        response: {
          200: dailyEnergySchema,
          304: z.null().meta({ description: 'Nothing has changed since the answer with this ETag' }),
          400: errorSchema,
          401: errorSchema,
          403: errorSchema,
          503: errorSchema,
        },
      },
    },
    async (request, reply) => {
      const startedMs = performance.now();
      const { workgroupId } = request.params as Address;
      const grant = await access.authenticate(bearerToken(request.headers.authorization));
      const workgroup = workgroups.get(workgroupId);
      if (!workgroup) throw workgroupForbidden(['search:read']);
      const authorization = authorize(grant, workgroupId, ['search:read'], workgroup.deviceGroups);
      if (request.validationError) throw request.validationError;
      const parameters = request.query as DailyEnergyParameters;
      const query = dailyEnergyQuery(parameters, authorization, workgroup.timezone, clock.now());

      const generation = await lake.current(workgroupId);
      const totals: TotalSources =
        generation && !query.bySource && declaresTotals(workgroup)
          ? totalSourcesOf(workgroup, await deviceSources(generation))
          : new Map();
      const etag = etagOf(factsOf(query, generation, totals));
      reply.header('ETag', etag).header('Cache-Control', 'private, no-cache').header('Vary', 'Authorization');
      if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send();

      const gone = new AbortController();
      reply.raw.once('close', () => gone.abort());
      let parts: Uint8Array[];
      try {
        parts = await dailyEnergyJson(lake, generation, query, totals, gone.signal);
      } catch (error) {
        // The query was stopped because nobody waits for it any more.
        if (gone.signal.aborted) return reply.send();
        throw error;
      }
      const bytes = parts.reduce((sum, part) => sum + part.length, 0);
      log.debug(
        {
          shard: workgroupId,
          generation: generation?.commit.sequence,
          bytes,
          durationMs: Math.round(performance.now() - startedMs),
        },
        'report.daily_energy',
      );
      return reply
        .type('application/json; charset=utf-8')
        .header('Content-Length', String(bytes))
        .send(Readable.from(parts, { objectMode: false }));
    },
  );
  rejectOtherMethods(app, url, ['GET']);
}

function declaresTotals({ totalSource, devices }: WorkgroupConfig): boolean {
  return totalSource !== undefined || devices.some((device) => device.totalSource !== undefined);
}

/** Everything an answer follows from: the content of the files it is read from, and the question. */
function factsOf(query: DailyEnergyQuery, generation: Generation | undefined, totals: TotalSources) {
  const files = generation ? filesOfRange(generation, query).map(({ sha256 }) => sha256) : [];
  return [query.startDay, query.endDay, query.bySource, query.devices ?? null, files, [...totals]];
}
