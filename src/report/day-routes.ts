import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import { etagOf } from '../http/etag.ts';
import { rejectOtherMethods } from '../http/http-server.ts';
import type { Logger } from '../lib/logger.ts';
import type { Clock } from '../lib/time.ts';
import type { EnergyPeriod } from './daily-energy.ts';
import {
  type DayQuery,
  type DayReport,
  dayReportJson,
  refuseTooMany,
  shownDays,
  sourceFiles,
} from './day-report.ts';
import {
  addressSchema,
  type DayParameters,
  dayQuery,
  dayQuerySchema,
  invalid,
  type ResolutionParameters,
  requireKnownDevices,
  resolutionShape,
  topShape,
  zoneShape,
} from './day-request.ts';
import type { Generation, LakeReader } from './lake/lake-reader.ts';
import type { Guard } from './report-guard.ts';
import { taggedAnswers } from './report-schemas.ts';
import type { SelectEnergyRows } from './rows/energy-rows.ts';
import { formatOf } from './rows/row-format.ts';
import { sendParts } from './rows/send-parts.ts';

export interface DayRoute {
  /** Below `/api/v1/orgs/{workgroupId}/`. */
  path: string;
  summary: string;
  description: string;
  report: DayReport;
  /** The same as rows. */
  rows: SelectEnergyRows;
  /** The same for other periods than days, by the parameter `resolution`. */
  periods?: Readonly<Record<EnergyPeriod, { report: DayReport; rows: SelectEnergyRows }>>;
  /** True if it also answers with the largest series and the sum of the others, by the parameter `top`. */
  hasTop?: boolean;
  /** True if it is also answered by the days of other zones, by the parameter `timezone`. */
  hasZones?: boolean;
  daysMax: number;
  answer: z.ZodType;
  /** Name of the log event of an answer. */
  event: string;
}

interface DayRouteDeps {
  lake: LakeReader;
  guard: Guard;
  clock: Clock;
  logger: Logger;
}

/** A report by days over the published lake. Its entity tag changes when the answer can have changed. */
export function registerDayRoute(app: FastifyInstance, route: DayRoute, deps: DayRouteDeps): void {
  const { daysMax } = route;
  const { lake, guard, clock, logger } = deps;
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
        querystring: dayQuerySchema(daysMax).extend({
          ...(route.periods && resolutionShape),
          ...(route.hasTop && topShape),
          ...(route.hasZones && zoneShape),
        }),
        response: taggedAnswers(route.answer),
      },
    },
    async (request, reply) => {
      const { workgroup, authorization } = await guard(request);
      const parameters = request.query as DayParameters & ResolutionParameters;
      const { resolution = 'day' } = parameters;
      const { report, rows } = (resolution !== 'day' && route.periods?.[resolution]) || route;
      const query = dayQuery(parameters, authorization, { workgroup, nowMs: clock.now(), daysMax });

      if (query.top !== undefined && formatOf(request) !== 'json')
        throw invalid('top', 'is only for JSON; rows have all devices and sources');
      const dayRange = shownDays(query);
      const generation = await lake.newestGeneration(workgroup.id);
      await requireKnownDevices('devices', query.devices, { lake, generation, workgroup });
      const etag = etagOf([...factsOf(report, query, generation), resolution]);
      return sendParts(request, reply, lake, {
        etag,
        read: (signal) => dayReportJson(report, lake, generation, query, signal),
        rows: {
          name: `${route.path.replace('/', '-')}_${dayRange.startDay}_${dayRange.endDay}`,
          facts: workgroup.devices,
          select: () => rows(query, workgroup, generation),
          async check(connection) {
            if (generation) await refuseTooMany(connection, report, query, generation);
          },
        },
        onAnswered: (fields) =>
          logger.debug(
            { workgroup: workgroup.id, generation: generation?.commit.sequence, ...fields },
            route.event,
          ),
      });
    },
  );
  rejectOtherMethods(app, url, ['GET']);
}

/** Everything that decides an answer: the files and the request. */
function factsOf(report: DayReport, query: DayQuery, generation: Generation | undefined) {
  const lists = generation
    ? [...Object.values(report.files(generation, query)), sourceFiles(generation, query)]
    : [];
  const files = lists.flat().map(({ sha256 }) => sha256);
  return [{ ...query, devices: query.devices ?? null }, files];
}
