import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import type { WorkgroupConfig } from '../config/config.ts';
import { budgetScenarios } from '../config/meters.ts';
import { StreamError } from '../contract/stream-errors.ts';
import { etagOf } from '../http/etag.ts';
import { rejectOtherMethods } from '../http/http-server.ts';
import type { Logger } from '../lib/logger.ts';
import { daysBetween } from '../lib/time.ts';
import { hasSplits } from '../roles/resolve-roles.ts';
import { budgetDays, checkScenario } from './budget-days.ts';
import { addressSchema } from './day-request.ts';
import type { Generation, LakeReader } from './lake/lake-reader.ts';
import {
  budgetDataSchema,
  budgetDetailsSchema,
  meterDataSchema,
  meterDetailsSchema,
} from './meter-answers.ts';
import { budgetRows, meterRows } from './meter-day-rows.ts';
import { type DaysSource, memberDays, memberOf, meterDaysJson } from './meter-days.ts';
import {
  budgetQuerySchema,
  type MeterParameters,
  type MeterQuery,
  meterQuery,
  meterQuerySchema,
  visibleMeters,
} from './meter-request.ts';
import type { Guard } from './report-guard.ts';
import { taggedAnswers } from './report-schemas.ts';
import { sendParts } from './rows/send-parts.ts';

interface MeterRouteDeps {
  lake: LakeReader;
  guard: Guard;
  logger: Logger;
}

interface MeterRoute {
  path: string;
  summary: string;
  description: string;
  kind: 'meter' | 'budget';
  /** The statement that makes a row for each day of "meter_day". */
  select: string;
  answer: z.ZodType;
  /** The maximum number of meter days of one answer: about 250 MB. */
  valuesMax: number;
}

const routes: readonly MeterRoute[] = [
  {
    path: 'meter-data',
    summary: 'Meter data',
    description:
      'Energy in Wh for each day, by meter, in the days of any time zone. Uploaded readings that lie in several days are cut by time; meters of devices are read from their telemetry. A token of device groups sees the meters of its devices, and no uploaded readings.',
    kind: 'meter',
    select: 'report/answer_meters',
    answer: meterDataSchema,
    valuesMax: 5_000_000,
  },
  {
    path: 'meter-data/details',
    summary: 'Meter data with its quality',
    description: 'Meter data with the quality, flags, coverage, revision and origin of each value.',
    kind: 'meter',
    select: 'report/answer_meter_details',
    answer: meterDetailsSchema,
    valuesMax: 1_000_000,
  },
  {
    path: 'budget-data',
    summary: 'Budget data',
    description: `Budget in Wh for each day, by meter. A year, month or other period is spread evenly over its days, so they add up to it. If several periods contain a day, the shortest counts, and the rest of the longer one stays the same. Without \`scenario\` each meter has on each day the first that has a budget: ${budgetScenarios.join(', ')}, then the first by name; the details say which. A token of device groups sees the budgets of the meters of its devices.`,
    kind: 'budget',
    select: 'report/answer_meters',
    answer: budgetDataSchema,
    valuesMax: 5_000_000,
  },
  {
    path: 'budget-data/details',
    summary: 'Budget data with its periods',
    description: 'Budget data with the scenario, revision and period of each value.',
    kind: 'budget',
    select: 'report/answer_budget_details',
    answer: budgetDetailsSchema,
    valuesMax: 1_000_000,
  },
];

/**
 * Meters and budgets by days over the published lake: `GET .../meter-data`, `.../budget-data` and their
 * details.
 */
export function registerMeterRoutes(app: FastifyInstance, deps: MeterRouteDeps): void {
  for (const route of routes) registerMeterRoute(app, route, deps);
}

function registerMeterRoute(
  app: FastifyInstance,
  route: MeterRoute,
  { lake, guard, logger }: MeterRouteDeps,
): void {
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
        querystring: route.kind === 'budget' ? budgetQuerySchema : meterQuerySchema,
        response: taggedAnswers(route.answer),
      },
    },
    async (request, reply) => {
      const { workgroup, authorization } = await guard(request);
      const parameters = request.query as MeterParameters;
      const visible = visibleMeters(workgroup.meters, authorization);
      const query = meterQuery(parameters, { visible, ownZone: workgroup.timezone });
      refuseTooMany(query, route.valuesMax);
      const generation = await lake.newestGeneration(workgroup.id);
      const { scenario } = parameters;
      const days =
        route.kind === 'meter'
          ? meterDays(generation, query, workgroup)
          : budgetDays(generation, { ...query, codes: codesOf(query) }, scenario);
      return sendParts(request, reply, lake, {
        etag: etagOf([
          route.path,
          query,
          visible,
          scenario,
          workgroup.timezone,
          days.files.map(({ sha256 }) => sha256),
        ]),
        read: async (signal) => {
          if (route.kind === 'budget')
            await checkScenario(lake, generation, codesOf(query), scenario, signal);
          return meterDaysJson(lake, days, route.select, query, signal);
        },
        rows: {
          name: `${route.path.replace('/', '-')}_${query.startDay}_${query.endDay}`,
          select: async (signal) => {
            if (route.kind === 'meter') return meterRows(days, query.meters);
            await checkScenario(lake, generation, codesOf(query), scenario, signal);
            return budgetRows(days, query.meters);
          },
        },
        onAnswered: (fields) =>
          logger.debug({ workgroup: workgroup.id, ...fields }, `report.${route.kind}_data`),
      });
    },
  );
  // Uploads use the same address.
  const others = route.path.endsWith('/details') ? ['GET'] : ['GET', 'PUT'];
  rejectOtherMethods(app, url, others);
}

function meterDays(
  generation: Generation | undefined,
  query: MeterQuery,
  workgroup: WorkgroupConfig,
): DaysSource {
  const members = query.meters.map(memberOf);
  return memberDays(generation, {
    ...query,
    members,
    ownZone: workgroup.timezone,
    splits: hasSplits(workgroup),
  });
}

function codesOf({ meters }: MeterQuery): string[] {
  return meters.map(({ code }) => code);
}

function refuseTooMany({ startDay, endDay, meters }: MeterQuery, valuesMax: number): void {
  const values = meters.length * (daysBetween(startDay, endDay) + 1);
  if (values > valuesMax)
    throw new StreamError(
      'InvalidRequest',
      `the answer would need up to ${values} days of meters, but it can have at most ${valuesMax}; ask for fewer days or meters`,
    );
}
