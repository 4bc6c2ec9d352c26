import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Authorization } from '../access/authorize.ts';
import type { WorkgroupConfig } from '../config/config.ts';
import type { SiteConfig } from '../config/meters.ts';
import { StreamError } from '../contract/stream-errors.ts';
import { etagOf } from '../http/etag.ts';
import { rejectOtherMethods } from '../http/http-server.ts';
import type { Logger } from '../lib/logger.ts';
import { addDays, type Clock, daysBetween, localDateOf } from '../lib/time.ts';
import { addressSchema, checkRange, DAYS_MAX, invalid, quote, zoneParameter } from './day-request.ts';
import { knownText } from './known-names.ts';
import type { LakeReader } from './lake/lake-reader.ts';
import { afterShape } from './lake/wait-for-offset.ts';
import { rangeShape, scenarioParameter } from './meter-request.ts';
import { reconciliationSchema } from './reconciliation.ts';
import type { Guard } from './report-guard.ts';
import { errorSchema, taggedAnswers } from './report-schemas.ts';
import { formatShape } from './rows/row-format.ts';
import { listedRows } from './rows/row-select.ts';
import { jsonParts, sendParts } from './rows/send-parts.ts';
import { type SiteQuestion, siteReconciliation, siteVariance } from './site-report.ts';
import { reconciliationShape, rowsOfReconciliation, rowsOfVariance, varianceShape } from './site-rows.ts';
import { varianceSchema } from './variance.ts';
import { visibleSites } from './visible-sites.ts';

interface SiteRouteDeps {
  lake: LakeReader;
  guard: Guard;
  clock: Clock;
  logger: Logger;
}

/** The maximum number of member days of one answer. */
const VALUES_MAX = 200_000;

export const siteAddressSchema = addressSchema.extend({
  site: z.string().meta({ description: 'Name of the site, as configured', example: 'roof' }),
});
const siteQuerySchema = z.object({
  ...rangeShape,
  timezone: zoneParameter,
  ...formatShape,
  ...afterShape,
});
const varianceQuerySchema = siteQuerySchema.extend({ scenario: scenarioParameter });

/** Sites over the published lake: `GET .../sites/{site}/reconciliation` and `.../variance`. */
export function registerSiteRoutes(app: FastifyInstance, deps: SiteRouteDeps): void {
  registerReconciliation(app, deps);
  registerVariance(app, deps);
}

function registerReconciliation(app: FastifyInstance, { lake, guard, logger }: SiteRouteDeps): void {
  const url = '/api/v1/orgs/:workgroupId/sites/:site/reconciliation';
  app.get(
    url,
    {
      attachValidation: true,
      schema: {
        summary: 'Reconciliation of a site',
        description:
          'The sum of the meters of a site against the sum of its devices, by their signs and days of validity, per day, month and in all, over days on which all of them are complete; the other days with the missing members. A token of device groups sees a site only if it sees all its members.',
        tags: ['report'],
        params: siteAddressSchema,
        querystring: siteQuerySchema,
        response: siteAnswers(reconciliationSchema),
      },
    },
    async (request, reply) => {
      const { workgroup, authorization } = await guard(request);
      const question = await questionOf(request, workgroup, authorization, lake);
      const { meters, devices } = question.site;
      for (const [side, list] of Object.entries({ meters, devices }))
        if (list.length === 0)
          throw invalid(
            'site',
            `${quote(question.site.name)} has no ${side}, so that there is nothing to compare`,
          );
      const report = siteReconciliation(question);
      return sendParts(request, reply, lake, {
        etag: etagOf(['reconciliation', factsOf(question), report.files.map(({ sha256 }) => sha256)]),
        read: async (signal) => jsonParts((await report.read(lake, signal))(question)),
        rows: {
          name: rowsName('reconciliation', question),
          select: async (signal) =>
            listedRows(
              reconciliationShape,
              rowsOfReconciliation((await report.read(lake, signal))(question), question),
            ),
        },
        onAnswered: (fields) => logger.debug({ workgroup: workgroup.id, ...fields }, 'report.reconciliation'),
      });
    },
  );
  rejectOtherMethods(app, url, ['GET']);
}

function registerVariance(app: FastifyInstance, { lake, guard, clock, logger }: SiteRouteDeps): void {
  const url = '/api/v1/orgs/:workgroupId/sites/:site/variance';
  app.get(
    url,
    {
      attachValidation: true,
      schema: {
        summary: 'Variance of a site',
        description:
          'Actual energy of the meters of a site minus their budget, per day, month and in all, by their signs and days of validity. Sums and percent cover days that are over and have both; a month that is not over has its budget to date. Meters without any budget in the range are left out of both sides.',
        tags: ['report'],
        params: siteAddressSchema,
        querystring: varianceQuerySchema,
        response: siteAnswers(varianceSchema),
      },
    },
    async (request, reply) => {
      const { workgroup, authorization } = await guard(request);
      const question = await questionOf(request, workgroup, authorization, lake);
      const { scenario } = request.query as z.output<typeof varianceQuerySchema>;
      const { site, zone } = question;
      if (site.meters.length === 0)
        throw invalid('site', `${quote(site.name)} has no meters, and budgets are of meters`);
      const today = localDateOf(clock.now(), zone);
      const report = siteVariance(question, { scenario, today });
      // The answer changes when another day is over.
      const over = [question.startDay, today, addDays(question.endDay, 1)].sort()[1];
      return sendParts(request, reply, lake, {
        etag: etagOf([
          'variance',
          factsOf(question),
          scenario,
          over,
          report.files.map(({ sha256 }) => sha256),
        ]),
        read: async (signal) => jsonParts((await report.read(lake, signal))(question)),
        rows: {
          name: rowsName('variance', question),
          select: async (signal) =>
            listedRows(varianceShape, rowsOfVariance((await report.read(lake, signal))(question))),
        },
        onAnswered: (fields) => logger.debug({ workgroup: workgroup.id, ...fields }, 'report.variance'),
      });
    },
  );
  rejectOtherMethods(app, url, ['GET']);
}

function siteAnswers(answer: z.ZodType) {
  return { ...taggedAnswers(answer), 404: errorSchema };
}

async function questionOf(
  request: FastifyRequest,
  workgroup: WorkgroupConfig,
  authorization: Authorization,
  lake: LakeReader,
): Promise<SiteQuestion> {
  const { site: name } = request.params as z.output<typeof siteAddressSchema>;
  const { startDate, endDate, timezone } = request.query as z.output<typeof siteQuerySchema>;
  const site = findSite(workgroup, authorization, name);
  checkRange(startDate, endDate, DAYS_MAX);
  const count = daysBetween(startDate, endDate) + 1;
  const members = site.meters.length + site.devices.length;
  if (count * members > VALUES_MAX)
    throw invalid(
      'endDate',
      `${count} days of ${members} meters and devices are more than ${VALUES_MAX} values; ask for fewer days`,
    );
  return {
    workgroup,
    site,
    startDay: startDate,
    endDay: endDate,
    zone: timezone ?? workgroup.timezone,
    generation: await lake.newestGeneration(workgroup.id),
  };
}

/** Finds a site that the caller can see. */
export function findSite(workgroup: WorkgroupConfig, authorization: Authorization, name: string): SiteConfig {
  const visible = visibleSites(workgroup, authorization);
  const site = visible.find((one) => one.name === name);
  if (site) return site;
  const known = knownText(
    'sites',
    visible.map((one) => one.name),
  );
  throw new StreamError('NotFound', `site: there is no site ${quote(name)}; ${known}`, { parameter: 'site' });
}

function factsOf({ workgroup, site, startDay, endDay, zone }: SiteQuestion) {
  return [site, workgroup.meters, workgroup.timezone, startDay, endDay, zone];
}

/** Letters that are safe in a header and in the name of a file. */
function rowsName(report: string, { site, startDay, endDay }: SiteQuestion): string {
  return `${report}_${site.name.replace(/[^\w.-]+/g, '-')}_${startDay}_${endDay}`;
}
