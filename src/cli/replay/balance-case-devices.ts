import type { DuckDBConnection } from '@duckdb/node-api';
import { deviceDaySql } from '../../balance/device-day-sql.ts';
import type { WorkgroupConfig } from '../../config/config.ts';
import type { DayBounds } from '../../lib/time.ts';
import { createRoleResolver } from '../../roles/resolve-roles.ts';
import { roleSpanColumns, roleSpanRows } from '../../roles/role-rows.ts';
import { jsonRowsSql } from '../../warehouse/json-rows.ts';
import { queryText } from '../../warehouse/query.ts';
import { type BalanceCase, type CaseSource, caseDays } from './balance-case.ts';
import { intervalsOf } from './balance-case-intervals.ts';

/** Reports the devices of a case as the daily-energy report does. */
export async function readDevices(
  connection: DuckDBConnection,
  balanceCase: BalanceCase,
  workgroup: WorkgroupConfig,
  own: readonly DayBounds[],
) {
  const days = own.flatMap((bounds) => balanceCase.sources.flatMap((source) => sourceDay(source, bounds)));
  const rows = await queryText<{ day: string; device: string; energy_wh: number | null; flags: string }>(
    connection,
    `${deviceDaySql({
      known_source: jsonRowsSql('known_sources', { device: 'UUID', source: 'VARCHAR' }),
      declared_device: jsonRowsSql('declared_devices', declaredColumns),
      role_span: jsonRowsSql('role_spans', roleSpanColumns),
      chosen: jsonRowsSql('source_days', sourceDayColumns),
    })}SELECT day::VARCHAR AS day, device::VARCHAR AS device, energy_wh::DOUBLE AS energy_wh, to_json(flags)::VARCHAR AS flags
     FROM device_day ORDER BY day, device`,
    {
      known_sources: JSON.stringify(balanceCase.sources.map(({ device, source }) => ({ device, source }))),
      declared_devices: JSON.stringify([
        { total_source: workgroup.totalSource },
        ...workgroup.devices.map(({ id, totalSource, sources, energyRole }) => ({
          device: id,
          total_source: totalSource,
          sources,
          energy_role: energyRole,
        })),
      ]),
      role_spans: roleSpanRows(createRoleResolver(workgroup).spans(balanceCase.sources)),
      source_days: JSON.stringify(days),
    },
  );
  const rowsByDay = Map.groupBy(rows, ({ day }) => day);
  return Object.fromEntries(
    caseDays(balanceCase).map((day) => [
      day,
      Object.fromEntries(
        (rowsByDay.get(day) ?? []).map(({ device, energy_wh, flags }) => [
          balanceCase.deviceNames.get(device)!,
          { energyWh: energy_wh, flags: JSON.parse(flags) as string[] },
        ]),
      ),
    ]),
  );
}

const declaredColumns = {
  device: 'UUID',
  total_source: 'VARCHAR',
  sources: ['VARCHAR'],
  energy_role: 'VARCHAR',
} as const;
const sourceDayColumns = {
  day: 'DATE',
  reported_day: 'DATE',
  device: 'UUID',
  source: 'VARCHAR',
  energy_wh: 'BIGINT',
  rise_wh: 'BIGINT',
  fall_wh: 'BIGINT',
  methods: ['VARCHAR'],
  flags: ['VARCHAR'],
  coverage: 'DOUBLE',
  status: 'VARCHAR',
  version: 'INTEGER',
  computed_at: 'TIMESTAMPTZ',
} as const;

/** A day of a source as the roll-up writes it: the known energy. Undefined if nothing is known. */
function sourceDay(source: CaseSource, bounds: DayBounds) {
  const { day } = bounds;
  const intervals = intervalsOf(source, bounds, 'day');
  const known = intervals.flatMap(({ energy_wh }) => energy_wh ?? []);
  if (known.length === 0) return [];
  const hasShape = intervals.every(({ has_shape }) => has_shape);
  const sum = (of: (wh: number) => number) => known.reduce((total, wh) => total + of(wh), 0);
  return [
    {
      day,
      reported_day: day,
      device: source.device,
      source: source.source,
      energy_wh: sum((wh) => wh),
      rise_wh: hasShape ? sum((wh) => Math.max(wh, 0)) : null,
      fall_wh: hasShape ? sum((wh) => Math.max(-wh, 0)) : null,
      methods: [],
      flags: [],
      coverage: known.length / intervals.length,
      status: 'final',
      version: 1,
    },
  ];
}
