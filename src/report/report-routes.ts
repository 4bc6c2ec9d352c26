import type { FastifyInstance } from 'fastify';
import type { Access } from '../access/access.ts';
import type { Gate } from '../access/admit.ts';
import type { Workgroups } from '../config/workgroups.ts';
import type { Logger } from '../lib/logger.ts';
import type { Clock } from '../lib/time.ts';
import { registerBalanceRoutes } from './balance-routes.ts';
import { registerChangesRoute } from './changes-route.ts';
import { dailyEnergy, dailyEnergyDetails, periodEnergy } from './daily-energy.ts';
import { DAYS_MAX, PROFILE_DAYS_MAX } from './day-request.ts';
import { type DayRoute, registerDayRoute } from './day-routes.ts';
import { registerDeviceStatusRoute } from './device-routes.ts';
import { type AskForExplanation, registerExplainRoute } from './explain-route.ts';
import { intervalEnergy } from './interval-energy.ts';
import type { LakeReader } from './lake/lake-reader.ts';
import { registerMeterRoutes } from './meter-routes.ts';
import { registerQualityRoute } from './quality-route.ts';
import { createGuard } from './report-guard.ts';
import { dailyEnergyDetailsSchema, dailyEnergySchema, intervalEnergySchema } from './report-schemas.ts';
import {
  dailyEnergyRows,
  deviceDailyEnergyRows,
  intervalEnergyRows,
  periodEnergyRows,
} from './rows/energy-rows.ts';
import { registerSiteRoutes } from './site-routes.ts';
import { registerWorkgroupRoute } from './workgroup-route.ts';

interface ReportDeps extends Pick<Gate, 'audit'> {
  access: Pick<Access, 'recheck'>;
  lake: LakeReader;
  explain: AskForExplanation;
  workgroups: Pick<Workgroups, 'get'>;
  clock: Clock;
  logger: Logger;
}

const dayRoutes: readonly DayRoute[] = [
  {
    path: 'daily-energy',
    summary: 'Daily energy',
    description:
      'Energy in Wh for each day, month or year, by device or by device and source. A device adds up sources of one role only. The header `Wattline-Flags`, such as `mixed=1, incomplete=2`, counts devices and days with these flags: mixed (one of several roles is used), undeclared (a source without a role), incomplete (a source is missing; without any energy the device is left out).',
    report: dailyEnergy,
    rows: dailyEnergyRows,
    periods: {
      month: { report: periodEnergy('month'), rows: periodEnergyRows('month') },
      year: { report: periodEnergy('year'), rows: periodEnergyRows('year') },
    },
    hasTop: true,
    daysMax: DAYS_MAX,
    answer: dailyEnergySchema,
    event: 'report.daily-energy',
  },
  {
    path: 'daily-energy/details',
    summary: 'Daily energy with its quality',
    description: 'Daily energy with the method, quality flags, coverage, status and version of each value.',
    report: dailyEnergyDetails,
    rows: (query, ...rest) => (query.bySource ? dailyEnergyRows : deviceDailyEnergyRows)(query, ...rest),
    daysMax: DAYS_MAX,
    answer: dailyEnergyDetailsSchema,
    event: 'report.daily-energy-details',
  },
  {
    path: 'interval-energy',
    summary: '15-minute profile',
    description:
      'Energy in Wh of each 15 minutes of each day, by device or by device and source, from the field from which the day was read: the intervals of a day add up to its daily energy exactly. With `timezone`, the days are those of another zone, and the intervals are the same.',
    report: intervalEnergy,
    rows: intervalEnergyRows,
    hasTop: true,
    hasZones: true,
    daysMax: PROFILE_DAYS_MAX,
    answer: intervalEnergySchema,
    event: 'report.interval-energy',
  },
];

/**
 * The reports over the published lake and the explanation of its days, below `/api/v1/orgs/{workgroupId}/`.
 */
export function registerReportRoutes(app: FastifyInstance, deps: ReportDeps): void {
  const { lake, explain, workgroups, clock, logger } = deps;
  const guard = createGuard(deps, workgroups);
  registerWorkgroupRoute(app, { guard, logger });
  for (const route of dayRoutes) registerDayRoute(app, route, { lake, guard, clock, logger });
  registerQualityRoute(app, { lake, guard, clock, logger });
  registerChangesRoute(app, { lake, guard, clock, logger });
  registerMeterRoutes(app, { lake, guard, logger });
  registerSiteRoutes(app, { lake, guard, clock, logger });
  registerBalanceRoutes(app, { lake, guard, clock, logger });
  registerDeviceStatusRoute(app, { lake, guard, logger });
  registerExplainRoute(app, { explain, guard, logger });
}
