import { balanceRoles, type SourceRole, sideOfRole } from '../../src/roles/role.ts';
import { DAYS, INTERVALS_A_DAY, type RandomSite, type SiteSource } from './sites.ts';

/** What the rules say of one interval of a site, written from the rules alone. Null is not known. */
export interface OracleInterval {
  roles: Record<SourceRole, number | null>;
  residual: number | null;
  gridNet: number | null;
  selfConsumption: number | null;
  selfSupply: number | null;
  gridToBattery: number | null;
  batteryToGrid: number | null;
  missing: SourceRole[];
  computed: SourceRole[];
  netted: boolean;
  undetermined: boolean;
  shapeless: boolean;
}

const rolesOf = ({ role, negativeRole }: SiteSource) => [role, ...(negativeRole ? [negativeRole] : [])];

/** Which sources are added up: those that nothing else of the site contains. */
function counting({ sources }: RandomSite): SiteSource[] {
  return sources.filter(
    ({ within, withinSite, sign }) => !withinSite && (within === undefined || sources[within]!.sign !== sign),
  );
}

type State = 'measured' | 'absent' | 'unknown';

function statesOf(site: RandomSite): Record<SourceRole, State> {
  const there = new Set(site.sources.flatMap(rolesOf));
  const measured = new Set(counting(site).flatMap(rolesOf));
  const hasBattery = there.has('battery_charge') || there.has('battery_discharge');
  const isOpen: Record<SourceRole, boolean> = {
    production: there.has('production') || there.has('grid_export'),
    consumption: true,
    grid_import: true,
    grid_export: there.has('grid_export') || there.has('production') || hasBattery,
    battery_charge: hasBattery,
    battery_discharge: hasBattery,
    other: false,
  };
  const states = balanceRoles.map((role): [SourceRole, State] => [
    role,
    measured.has(role) ? 'measured' : site.absent.includes(role) || !isOpen[role] ? 'absent' : 'unknown',
  ]);
  return Object.fromEntries(states) as Record<SourceRole, State>;
}

/** What a source brings to a role; null where it is not known. */
function brought(source: SiteSource, role: SourceRole, index: number): number | null {
  const wh = source.wh[index]!;
  if (wh === null) return null;
  if (source.negativeRole === undefined) return source.sign * wh;
  if (source.shapeless[Math.floor(index / INTERVALS_A_DAY)]) return null;
  return source.sign * Math.max(role === source.role ? wh : -wh, 0);
}

const plus = (list: Array<number | null>) =>
  list.some((one) => one === null) ? null : list.reduce<number>((sum, one) => sum + one!, 0);
const minus = (a: number | null, b: number | null) => (a === null || b === null ? null : a - b);

/**
 * Energy in minus energy out, of measured sources. It is known even if rise and fall cannot be distinguished.
 */
function balanceOf(sources: readonly SiteSource[], index: number): number | null {
  return plus(
    sources.map((source) => {
      const wh = source.wh[index]!;
      if (wh === null) return null;
      if (source.negativeRole === 'other') {
        const rise = brought(source, source.role, index);
        return rise === null ? null : sideOfRole[source.role] * rise;
      }
      return sideOfRole[source.role] * source.sign * wh;
    }),
  );
}

export function oracleInterval(site: RandomSite, index: number): OracleInterval {
  const sources = counting(site);
  const states = statesOf(site);
  const unknown = balanceRoles.filter((role) => states[role] === 'unknown').sort();
  const isPair = unknown.join() === 'grid_export,grid_import';
  const isNetted = isPair && site.allowsNetting;
  const shapeless = sources.some((source) => source.shapeless[Math.floor(index / INTERVALS_A_DAY)]);
  const left = balanceOf(sources, index);

  const roles = Object.fromEntries(
    balanceRoles.map((role) => {
      if (states[role] === 'absent') return [role, 0];
      if (states[role] === 'measured') {
        const own = sources.filter((source) => rolesOf(source).includes(role));
        return [role, plus(own.map((source) => brought(source, role, index)))];
      }
      if (left === null) return [role, null];
      // `0 - x`, because there is no negative zero.
      if (unknown.length === 1) return [role, sideOfRole[role] === 1 ? 0 - left : left];
      if (isNetted && !shapeless) return [role, Math.max(role === 'grid_import' ? 0 - left : left, 0)];
      return [role, null];
    }),
  ) as Record<SourceRole, number | null>;

  const { production, consumption, grid_import, grid_export, battery_charge, battery_discharge } = roles;
  const grid = (role: SourceRole) => role === 'grid_import' || role === 'grid_export';
  const both = sources.filter((source) => source.negativeRole !== undefined && rolesOf(source).every(grid));
  const others = sources.filter((source) => rolesOf(source).some(grid) && !both.includes(source));
  const gridSources = [
    ...both.map((source) => balanceOf([source], index)),
    ...others.flatMap((source) =>
      rolesOf(source)
        .filter(grid)
        .map((role) => {
          const wh = brought(source, role, index);
          return wh === null ? null : sideOfRole[role] * wh;
        }),
    ),
  ];
  const isGridTold = states.grid_import !== 'unknown' && states.grid_export !== 'unknown';
  const known = (...terms: Array<number | null>) => !shapeless && terms.every((term) => term !== null);
  return {
    roles,
    residual: unknown.length === 0 ? left : left === null || (unknown.length > 1 && !isPair) ? null : 0,
    gridNet: isPair
      ? left === null
        ? null
        : 0 - left
      : isGridTold
        ? plus(gridSources)
        : minus(grid_import, grid_export),
    selfConsumption: minus(production, grid_export),
    selfSupply: minus(consumption, grid_import),
    gridToBattery: known(battery_charge, consumption, grid_import)
      ? Math.min(battery_charge!, Math.max(0, grid_import! - Math.max(consumption!, 0)))
      : null,
    batteryToGrid: known(battery_discharge, production, grid_export)
      ? Math.min(battery_discharge!, Math.max(0, grid_export! - production!))
      : null,
    missing: balanceRoles
      .filter((role) => sources.some((source) => source.wh[index] === null && rolesOf(source).includes(role)))
      .sort(),
    computed: unknown.length === 1 || isNetted ? unknown : [],
    netted: isNetted || sources.some((source) => source.negativeRole !== undefined),
    undetermined: unknown.length > 1 && !isNetted,
    shapeless,
  };
}

/** Sums of intervals; null where one of them is. */
export function sumOf(
  intervals: readonly OracleInterval[],
  of: (one: OracleInterval) => number | null,
): number | null {
  return plus(intervals.map(of));
}

export const intervalCount = DAYS.length * INTERVALS_A_DAY;
