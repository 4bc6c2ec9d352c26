import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { rejectOtherMethods } from '../http.ts';
import type { Log } from '../log.ts';
import type { Clock } from '../time.ts';
import { errorAnswers } from './answers.ts';
import { type DayQuery, type DayReport, dayReportJson, sourceFiles } from './day-report.ts';
import { etagOf, matchesEtag } from './etag.ts';
import type { Guard } from './guard.ts';
import type { Generation, LakeReader } from './lake.ts';
import { addressSchema, type DayParameters, dayQuery, dayQuerySchema } from './request.ts';

export interface DayRoute {
  /** Below `/api/v1/orgs/{workgroupId}/`. */
  path: string;
  summary: string;
  description: string;
  report: DayReport;
  daysMax: number;
  answer: z.ZodType;
  /** Name of the log event of an answer. */
  event: string;
}

export interface DayRouteDeps {
  lake: LakeReader;
  guard: Guard;
  clock: Clock;
  log: Log;
}

/** A report by days over the published lake, with an entity tag that changes when the answer may have. */
export function registerDayRoute(app: FastifyInstance, route: DayRoute, deps: DayRouteDeps): void {
  const { report, daysMax } = route;
  const { lake, guard, clock, log } = deps;
  const url = `/api/v1/orgs/:workgroupId/${route.path}`;

  app.get(
    url,
    {
      attachValidation: true,
      schema: {
        summary: route.summary,
        description: route.description,
        tags: ['report'],
        params: addressSchema,
        querystring: dayQuerySchema(daysMax),
        response: {
          200: route.answer,
          304: z.null().meta({ description: 'Nothing has changed since the answer with this ETag' }),
          ...errorAnswers,
        },
      },
    },
    async (request, reply) => {
      const startedMs = performance.now();
      const { workgroup, authorization } = await guard(request);
      const zone = workgroup.timezone;
      const parameters = request.query as DayParameters;
      const query = dayQuery(parameters, authorization, { zone, nowMs: clock.now(), daysMax });

      const generation = await lake.current(workgroup.id);
      const etag = etagOf(factsOf(report, query, generation));
      reply.header('ETag', etag).header('Cache-Control', 'private, no-cache').header('Vary', 'Authorization');
      if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send();

      const gone = new AbortController();
      reply.raw.once('close', () => gone.abort());
      let parts: Uint8Array[];
      try {
        parts = await dayReportJson(report, lake, generation, query, gone.signal);
      } catch (error) {
        // The query was stopped because nobody waits for it any more.
        if (gone.signal.aborted) return reply.send();
        throw error;
      }
      const bytes = parts.reduce((sum, part) => sum + part.length, 0);
      log.debug(
        {
          shard: workgroup.id,
          generation: generation?.commit.sequence,
          bytes,
          durationMs: Math.round(performance.now() - startedMs),
        },
        route.event,
      );
      return reply
        .type('application/json; charset=utf-8')
        .header('Content-Length', String(bytes))
        .send(Readable.from(parts, { objectMode: false }));
    },
  );
  rejectOtherMethods(app, url, ['GET']);
}

/** Everything an answer follows from: the content of the files it is read from, and the question. */
function factsOf(report: DayReport, query: DayQuery, generation: Generation | undefined) {
  const lists = generation
    ? [...Object.values(report.files(generation, query)), sourceFiles(generation, query)]
    : [];
  const files = lists.flat().map(({ sha256 }) => sha256);
  return [{ ...query, devices: query.devices ?? null }, files];
}
