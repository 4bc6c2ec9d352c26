import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Authorization } from '../access/authorize.ts';
import {
  type BalanceScope,
  deviceScope,
  holdsAll,
  siteScope,
  workgroupScope,
} from '../balance/balance-scope.ts';
import { balanceResolutions } from '../balance/balance-sql.ts';
import type { WorkgroupConfig } from '../config/config.ts';
import { findDevice } from '../config/find-device.ts';
import { StreamError } from '../contract/stream-errors.ts';
import { etagOf } from '../http/etag.ts';
import { rejectOtherMethods } from '../http/http-server.ts';
import { once } from '../http/query-schemas.ts';
import type { Logger } from '../lib/logger.ts';
import type { Clock } from '../lib/time.ts';
import { balanceAnswerSchema } from './balance-answers.ts';
import { type BalanceQuestion, balanceStatement, elapsedIntervalsOf } from './balance-question.ts';
import { balanceRows } from './balance-rows.ts';
import {
  addressSchema,
  DAYS_MAX,
  daySchema,
  invalid,
  PROFILE_DAYS_MAX,
  quote,
  rangeOrYesterday,
  zoneParameter,
} from './day-request.ts';
import { alternativesText, findUnknownDevice, visibleNamed } from './known-devices.ts';
import type { LakeReader } from './lake/lake-reader.ts';
import { afterShape } from './lake/wait-for-offset.ts';
import type { Guard } from './report-guard.ts';
import { errorSchema, taggedAnswers } from './report-schemas.ts';
import { formatShape } from './rows/row-format.ts';
import { sendParts } from './rows/send-parts.ts';
import { findSite, siteAddressSchema } from './site-routes.ts';

interface BalanceRouteDeps {
  lake: LakeReader;
  guard: Guard;
  clock: Clock;
  logger: Logger;
}

const querySchema = z.object({
  startDate: daySchema.optional().meta({
    description: 'First day of the range. Default: yesterday',
    example: '2026-06-01',
  }),
  endDate: daySchema.optional().meta({
    description: `Last day of the range, included. Default: yesterday. At most ${DAYS_MAX} days, ${PROFILE_DAYS_MAX} of intervals`,
    example: '2026-06-30',
  }),
  timezone: zoneParameter,
  resolution: z
    .enum(balanceResolutions, { error: `must be one of ${balanceResolutions.join(', ')}, given once` })
    .default('day')
    .meta({ description: 'Period of a row. Months and years contain only days of the range' }),
  device: z
    .string(once)
    .optional()
    .meta({ description: 'Only this device, by its id or its name', example: 'garage' }),
  ...formatShape,
  ...afterShape,
});

/** The energy balance over the published lake: `GET .../balance` and `.../sites/{site}/balance`. */
export function registerBalanceRoutes(app: FastifyInstance, deps: BalanceRouteDeps): void {
  register(app, deps, {
    url: '/api/v1/orgs/:workgroupId/balance',
    summary: 'Energy balance',
    description:
      'Production, consumption, exchange with the grid and with batteries of a workgroup or of one of its devices, from the roles of sources: by interval, day, month or year in any time zone. One role without a source is computed; a measured role that is missing is null. A token of device groups sees the balance of its devices, and of sites if it sees all their members; that of a workgroup needs a token without device groups.',
    params: addressSchema,
    scopeOf: scopeOfWorkgroup,
  });
  register(app, deps, {
    url: '/api/v1/orgs/:workgroupId/sites/:site/balance',
    summary: 'Energy balance of a site',
    description:
      'The energy balance of the devices of a site, by their signs and days of validity, or of one of them. A token of device groups sees a site only if it sees all its members.',
    params: siteAddressSchema,
    scopeOf: scopeOfSite,
  });
}

type ScopeOf = (
  request: FastifyRequest,
  workgroup: WorkgroupConfig,
  authorization: Authorization,
) => BalanceScope;

function register(
  app: FastifyInstance,
  { lake, guard, clock, logger }: BalanceRouteDeps,
  route: { url: string; summary: string; description: string; params: z.ZodType; scopeOf: ScopeOf },
): void {
  const { url, summary, description, params, scopeOf } = route;
  app.get(
    url,
    {
      attachValidation: true,
      schema: {
        summary,
        description,
        tags: ['report'],
        params,
        querystring: querySchema,
        response: { ...taggedAnswers(balanceAnswerSchema), 404: errorSchema },
      },
    },
    async (request, reply) => {
      const { workgroup, authorization } = await guard(request);
      const scope = scopeOf(request, workgroup, authorization);
      const generation = await lake.newestGeneration(workgroup.id);
      const { device } = request.query as Parameters;
      if (device !== undefined) {
        const ids = scope.members.flatMap((member) => member.device ?? []);
        const unknown = await findUnknownDevice(lake, generation, workgroup, ids);
        if (unknown) throw unknownDevice(device, workgroup.devices, unknown.known);
      }
      const question: BalanceQuestion = {
        scope,
        ...rangeOf(request.query as Parameters, workgroup, clock.now()),
        ownZone: workgroup.timezone,
        nowMs: clock.now(),
        generation,
      };
      const statement = balanceStatement(question);
      const { nowMs: _, generation: __, ...facts } = question;
      const files = statement.files.map(({ sha256 }) => sha256);
      const read = (signal: AbortSignal) => statement.read(lake, signal);
      return sendParts(request, reply, lake, {
        etag: etagOf(['balance', facts, elapsedIntervalsOf(question), files]),
        read,
        rows: {
          name: `balance_${question.startDay}_${question.endDay}`,
          select: async (signal) =>
            balanceRows(await read(signal), question.resolution, scopeName(request, workgroup)),
        },
        onAnswered: (fields) => logger.debug({ workgroup: workgroup.id, ...fields }, 'report.balance'),
      });
    },
  );
  rejectOtherMethods(app, url, ['GET']);
}

type Parameters = z.output<typeof querySchema>;

function rangeOf(parameters: Parameters, workgroup: WorkgroupConfig, nowMs: number) {
  const { timezone: zone = workgroup.timezone, resolution } = parameters;
  const daysMax = resolution === 'interval' ? PROFILE_DAYS_MAX : DAYS_MAX;
  return { ...rangeOrYesterday(parameters, { zone, nowMs, daysMax }), zone, resolution };
}

function scopeName(request: FastifyRequest, { id }: WorkgroupConfig): string {
  const { site } = request.params as { site?: string };
  return (request.query as Parameters).device ?? site ?? id;
}

/** The scope of a request: the whole workgroup, or one of its devices. */
const scopeOfWorkgroup: ScopeOf = (request, workgroup, { devices }) => {
  const { device } = request.query as Parameters;
  const whole = workgroupScope(workgroup);
  if (device !== undefined) return scopeOfDevice(whole, workgroup, device, devices);
  if (devices !== 'all')
    throw new StreamError(
      'InsufficientScope',
      'the balance of a workgroup needs a token without device groups; ask for one device (device=), or for a site if the token may see all its members',
    );
  return whole;
};

/** The scope of a request: the devices of a site, or one of them. */
const scopeOfSite: ScopeOf = (request, workgroup, authorization) => {
  const { site: name } = request.params as z.output<typeof siteAddressSchema>;
  const { device } = request.query as Parameters;
  // A site without members is the whole workgroup. `findSite` compares only members, so such a site is left
  // out before for a token of device groups.
  const seen =
    authorization.devices === 'all'
      ? workgroup
      : { ...workgroup, sites: workgroup.sites.filter((site) => !holdsAll(siteScope(site))) };
  const whole = siteScope(findSite(seen, authorization, name));
  if (whole.members.length === 0)
    throw invalid(
      'site',
      `${quote(name)} has meters alone, and a balance is of devices; list them in the configuration`,
    );
  if (device === undefined) return whole;
  const members = holdsAll(whole) ? 'all' : new Set(whole.members.flatMap((member) => member.device ?? []));
  return scopeOfDevice(whole, workgroup, device, members);
};

/** The part of a scope that is one device. @param devices the devices of the scope that the caller can see */
function scopeOfDevice(
  whole: BalanceScope,
  workgroup: WorkgroupConfig,
  device: string,
  devices: Authorization['devices'],
): BalanceScope {
  const id = findDevice(workgroup, device);
  if (id === undefined || (devices !== 'all' && !devices.has(id)))
    throw unknownDevice(device, visibleNamed({ devices }, workgroup), devices === 'all' ? [] : devices);
  return deviceScope(whole, id);
}

/** @param named the devices whose names the caller can see */
function unknownDevice(
  device: string,
  named: WorkgroupConfig['devices'],
  others: Iterable<string>,
): StreamError {
  const alternatives = alternativesText(device, named, others);
  return new StreamError('NotFound', `device: there is no device ${quote(device)} here; ${alternatives}`, {
    parameter: 'device',
  });
}
