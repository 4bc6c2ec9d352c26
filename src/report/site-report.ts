import type { WorkgroupConfig } from '../config/config.ts';
import type { SiteConfig } from '../config/meters.ts';
import { addDays, daysBetween, type LocalDate } from '../lib/time.ts';
import type { LakeFile } from '../publish/commit-schema.ts';
import { hasSplits } from '../roles/resolve-roles.ts';
import { budgetDays, checkScenario } from './budget-days.ts';
import type { Generation, LakeReader } from './lake/lake-reader.ts';
import { type Member, memberDays, memberOf } from './meter-days.ts';
import { type Reconciliation, reconcile } from './reconciliation.ts';
import { metersOf, readDayValues, type SiteMember, siteDevicesOf } from './site-days.ts';
import { type Variance, varianceOf } from './variance.ts';

/** Days of a site in one generation. */
export interface SiteQuestion extends DayRange {
  workgroup: Pick<WorkgroupConfig, 'meters' | 'timezone' | 'roles'>;
  site: SiteConfig;
  /** The time zone of the days. */
  zone: string;
  generation: Generation | undefined;
}

export interface DayRange {
  startDay: LocalDate;
  /** Included. */
  endDay: LocalDate;
}

/** A report about a site. */
export interface SiteReport<Answer> {
  /** The files of the generation that it reads. */
  files: LakeFile[];
  /** @returns the answer for the requested days, or for some of them */
  read(lake: LakeReader, signal?: AbortSignal): Promise<(range: DayRange) => Answer>;
}

/** The meters of a site against its devices. */
export function siteReconciliation(asked: SiteQuestion): SiteReport<Reconciliation> {
  const { site, zone } = asked;
  const members = { meters: metersOf(site), devices: siteDevicesOf(site) };
  const source = actualDays(asked, [...members.meters, ...members.devices]);
  return {
    files: source.files,
    async read(lake, signal) {
      const values = await readDayValues(lake, source, 'meter', signal);
      return (range) => ({
        site: site.name,
        timezone: zone,
        ...reconcile(daysOfRange(range), members, values),
      });
    },
  };
}

/**
 * The meters of a site against their budgets.
 * @param today the first day that is not over yet
 */
export function siteVariance(
  asked: SiteQuestion,
  { scenario, today }: { scenario: string | undefined; today: LocalDate },
): SiteReport<Variance> {
  const { site, zone, generation } = asked;
  const meters = metersOf(site);
  const codes = [...new Set(site.meters.map(({ code }) => code))];
  const source = actualDays(asked, meters);
  return {
    files: [...source.files, ...(generation?.files('budget') ?? [])],
    async read(lake, signal) {
      await checkScenario(lake, generation, codes, scenario, signal);
      const budgeted = budgetDays(generation, { ...asked, codes }, scenario);
      const budget = await readDayValues(lake, budgeted, 'budget', signal);
      const actual = await readDayValues(lake, source, 'meter', signal);
      return (range) => ({
        site: site.name,
        timezone: zone,
        ...varianceOf(daysOfRange(range), meters, { actual, budget, today }),
      });
    },
  };
}

export function daysOfRange({ startDay, endDay }: DayRange): LocalDate[] {
  return Array.from({ length: daysBetween(startDay, endDay) + 1 }, (_, index) => addDays(startDay, index));
}

function actualDays(
  { workgroup, generation, startDay, endDay, zone }: SiteQuestion,
  siteMembers: readonly SiteMember[],
) {
  const meters = new Map(workgroup.meters.map((meter) => [meter.code, meter]));
  const members = new Map(
    siteMembers.map((member): [string, Member] => [
      member.key,
      'meter' in member
        ? memberOf(meters.get(member.meter)!)
        : { key: member.key, device: member.device, source: member.source },
    ]),
  );
  const own = { ownZone: workgroup.timezone, zone, splits: hasSplits(workgroup) };
  return memberDays(generation, { ...own, members: [...members.values()], startDay, endDay });
}
