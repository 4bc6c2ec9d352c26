import type { DuckDBConnection } from '@duckdb/node-api';
import fc from 'fast-check';
import { type BalanceScope, scopeTables } from '../../src/balance/balance-scope.ts';
import { type BalanceResolution, balanceSql } from '../../src/balance/balance-sql.ts';
import { INTERVAL_MS, type LocalDate } from '../../src/lib/time.ts';
import type { RoleSpan } from '../../src/roles/resolve-roles.ts';
import { balanceRoles, type SourceRole, sideOfRole } from '../../src/roles/role.ts';
import { peakColumns, roleSpanColumns, roleSpanRows } from '../../src/roles/role-rows.ts';
import { jsonRowsSql } from '../../src/warehouse/json-rows.ts';
import { loadSql } from '../../src/warehouse/load-sql.ts';
import { queryText } from '../../src/warehouse/query.ts';
import { deviceId } from '../support/messages.ts';

/** Days are short here: the chapters take their bounds from tables. */
export const INTERVALS_A_DAY = 6;
export const DAYS = ['2025-06-30', '2025-07-01'] as const;
const START_MS = Date.UTC(2025, 5, 30);

export interface SiteSource {
  device: number;
  source: string;
  role: SourceRole;
  negativeRole?: SourceRole | undefined;
  sign: 1 | -1;
  /** Wh of each interval of the days; null is not known. */
  wh: Array<number | null>;
  /** Days without a known shape. */
  shapeless: boolean[];
  /** What contains it: another source of the site by its place. */
  within?: number | undefined;
  withinSite?: boolean;
}

export interface RandomSite {
  sources: SiteSource[];
  absent: SourceRole[];
  allowsNetting: boolean;
}

const opposite = (role: SourceRole) => balanceRoles.filter((other) => sideOfRole[other] !== sideOfRole[role]);

const count = DAYS.length * INTERVALS_A_DAY;
const amount = (isSigned: boolean) => fc.integer({ min: isSigned ? -2_000 : 0, max: 2_000 });

const sourceArbitrary = (index: number, gaps: boolean) =>
  fc
    .record({
      role: fc.constantFrom(...balanceRoles),
      signed: fc.constantFrom('no', 'no', 'no', 'opposite', 'other'),
      sign: fc.constantFrom<1 | -1>(1, 1, 1, -1),
      shapeless: fc.tuple(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 9 })),
      withinSite: fc.integer({ min: 0, max: 9 }),
    })
    .chain(({ role, signed, sign, shapeless, withinSite }) =>
      fc.record({
        device: fc.constant(index),
        source: fc.constant(`s${index}`),
        role: fc.constant<SourceRole>(role),
        negativeRole:
          signed === 'no'
            ? fc.constant(undefined)
            : signed === 'other'
              ? fc.constant<SourceRole>('other')
              : fc.constantFrom<SourceRole>(...opposite(role)),
        sign: fc.constant(sign),
        wh: fc.array(gaps ? fc.option(amount(signed !== 'no'), { freq: 12 }) : amount(signed !== 'no'), {
          minLength: count,
          maxLength: count,
        }),
        shapeless: fc.constant<boolean[]>(shapeless.map((one) => gaps && one === 0)),
        withinSite: fc.constant(withinSite === 0),
      }),
    );

/** A site with up to six sources. @param gaps whether energy may be unknown, or without a shape */
export function siteArbitrary({ gaps }: { gaps: boolean }): fc.Arbitrary<RandomSite> {
  return fc.record({
    sources: fc
      .tuple(...Array.from({ length: 6 }, (_, index) => sourceArbitrary(index, gaps)))
      .chain((all) => fc.integer({ min: 1, max: 6 }).map((length) => all.slice(0, length)))
      .map(contain),
    absent: fc.subarray([...balanceRoles], { maxLength: 2 }),
    allowsNetting: fc.boolean(),
  });
}

/** If two sources in a row are equal, the second one is within the first one. */
function contain(sources: SiteSource[]): SiteSource[] {
  return sources.map((one, index) => {
    const parent = sources[index - 1];
    const isPart = parent && parent.role === one.role && parent.negativeRole === one.negativeRole;
    return isPart ? { ...one, within: index - 1, withinSite: false } : one;
  });
}

export type Row = Record<string, unknown> & { site: number; period: string };

/** Days as a table. `from` and `to` are indexes in the row of all intervals; `to` is not included. */
function dayRows(days: ReadonlyArray<readonly [day: LocalDate, from: number, to: number]>): string {
  return JSON.stringify(
    days.map(([day, from, to]) => ({
      day,
      start_ms: START_MS + from * INTERVAL_MS,
      end_ms: START_MS + to * INTERVAL_MS,
    })),
  );
}

export const ownDays = DAYS.map(
  (day, index) => [day, index * INTERVALS_A_DAY, (index + 1) * INTERVALS_A_DAY] as const,
);

/** The balances of many sites at a time, as rows of table "balance". */
export async function balanceSites(
  connection: DuckDBConnection,
  sites: readonly RandomSite[],
  resolution: BalanceResolution,
  zoneDays: ReadonlyArray<readonly [day: LocalDate, from: number, to: number]> = ownDays,
): Promise<Row[]> {
  const idOf = (site: number, device: number) => deviceId(site * 100 + device);
  const scopes = scopeTables(
    sites.map(
      ({ sources, absent, allowsNetting }, site): BalanceScope => ({
        id: String(site),
        isSite: true,
        allowsNetting,
        absent,
        members: sources.map(({ device, source, sign }) => ({ device: idOf(site, device), source, sign })),
      }),
    ),
  );
  const spans = sites.flatMap(({ sources }, site) =>
    sources.map(({ device, source, role, negativeRole, within, withinSite }): RoleSpan => {
      const parent = within === undefined ? undefined : sources[within]!;
      return {
        device: idOf(site, device),
        source,
        role,
        negativeRole,
        within: parent
          ? { device: idOf(site, parent.device), source: parent.source }
          : withinSite
            ? 'site'
            : undefined,
        from: undefined,
        to: undefined,
      };
    }),
  );
  const intervals = sites.flatMap(({ sources }, site) =>
    sources.flatMap(({ device, source, wh, shapeless }) =>
      wh.map((energy_wh, index) => ({
        device: idOf(site, device),
        source,
        own_day: DAYS[Math.floor(index / INTERVALS_A_DAY)],
        at_ms: START_MS + index * INTERVAL_MS,
        energy_wh,
        is_known: energy_wh !== null,
        has_shape: !shapeless[Math.floor(index / INTERVALS_A_DAY)],
        is_estimated: false,
        step_wh: 0,
      })),
    ),
  );
  const days = { day: 'DATE', start_ms: 'BIGINT', end_ms: 'BIGINT' };
  const sql = balanceSql(
    {
      rule: `SELECT * REPLACE (9223372036854775807 AS now_ms) FROM (${loadSql('balance/find_rule')})`,
      own_day: jsonRowsSql('own_days', days),
      zone_day: jsonRowsSql('zone_days', days),
      ...scopes.tables,
      role_span: jsonRowsSql('role_spans', roleSpanColumns),
      device_peak: jsonRowsSql('peaks', peakColumns),
      sources: [
        [
          'source_interval',
          jsonRowsSql('source_intervals', {
            device: 'UUID',
            source: 'VARCHAR',
            own_day: 'DATE',
            at_ms: 'BIGINT',
            energy_wh: 'BIGINT',
            is_known: 'BOOLEAN',
            has_shape: 'BOOLEAN',
            is_estimated: 'BOOLEAN',
            step_wh: 'DOUBLE',
          }),
        ],
      ],
    },
    resolution,
  );
  const rows = await queryText<{ balance: string }>(
    connection,
    `${sql}SELECT to_json(balance)::VARCHAR AS balance FROM balance ORDER BY scope_id::INTEGER, period`,
    {
      ...scopes.parameters,
      own_days: dayRows(ownDays),
      zone_days: dayRows(zoneDays),
      role_spans: roleSpanRows(spans),
      peaks: '[]',
      source_intervals: JSON.stringify(intervals),
    },
  );
  return rows.map(({ balance }) => {
    const row = JSON.parse(balance) as Record<string, unknown>;
    return { ...row, site: Number(row.scope_id), period: String(row.period) };
  });
}
