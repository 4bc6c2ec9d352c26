import type { DuckDBConnection } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { commonTable } from '../../src/balance/balance-sql.ts';
import { loadSql } from '../../src/warehouse/load-sql.ts';
import { openConnection } from '../balance/balance-fixture.ts';
import { deviceId } from '../support/messages.ts';

const [panel, battery, heater] = [deviceId(1), deviceId(2), deviceId(3)];

/** Members of two sites of devices, one of which has a meter too, and of a site that has only a meter. */
const members = [
  `('roof', '${panel}'::UUID, 'pv', 1, DATE '2026-01-01', NULL::DATE)`,
  "('roof', NULL, NULL, 1, NULL, NULL)",
  `('shed', '${battery}', NULL, -1, NULL, DATE '2026-06-30')`,
  "('metered', NULL, NULL, 1, NULL, NULL)",
];

/** Reads what a statement of the chapter 55_balance_views returns for a lake with these members of sites. */
async function readScopes(connection: DuckDBConnection, statement: string, siteMembers = members) {
  const tables = [
    commonTable('site_member', rows('site, device, source, sign, valid_from, valid_to', siteMembers)),
    commonTable(
      'absent_role',
      rows('site, role', ["('whole', 'battery')", "('metered', 'x')", "(NULL, 'y')"]),
    ),
    commonTable(
      'role_span',
      rows('device, role', [
        `('${panel}'::UUID, 'production')`,
        `('${panel}', 'consumption')`,
        `('${heater}', 'other')`,
      ]),
    ),
    commonTable('site_device', loadSql('publish/find_site_device')),
    commonTable('whole_site', loadSql('publish/find_whole_site')),
    commonTable('scope', loadSql('publish/find_view_scope')),
  ];
  const reader = await connection.runAndReadAll(
    `WITH ${tables.join(',\n')}\nFROM (${loadSql(`publish/${statement}`)}) ORDER BY ALL`,
  );
  return reader.getRowObjectsJson();
}

function rows(columns: string, values: readonly string[]): string {
  return `FROM (VALUES ${values.join(', ')}) AS given(${columns})`;
}

test('views have the scopes of the workgroup, of sites that have devices or nothing, and of devices with a role', async () => {
  const connection = await openConnection();
  const scope = { site: null, device: null, is_site: true, allows_netting: true };
  expect(await readScopes(connection, 'find_view_scope')).toEqual([
    { ...scope, scope_id: `device/${panel}`, kind: 'device', device: panel, is_site: false },
    { ...scope, scope_id: 'site/roof', kind: 'site', site: 'roof' },
    { ...scope, scope_id: 'site/shed', kind: 'site', site: 'shed' },
    { ...scope, scope_id: 'site/whole', kind: 'site', site: 'whole' },
    { ...scope, scope_id: 'workgroup', kind: 'workgroup', allows_netting: false },
  ]);
  const oneSite = await readScopes(connection, 'find_view_scope', members.slice(0, 2));
  expect(oneSite.find(({ kind }) => kind === 'workgroup')).toMatchObject({ allows_netting: true });

  const all = { device: null, source: null, sign: 1, valid_from: null, valid_to: null };
  expect(await readScopes(connection, 'find_view_member')).toEqual([
    { ...all, scope_id: `device/${panel}`, device: panel },
    { ...all, scope_id: 'site/roof', device: panel, source: 'pv', valid_from: '2026-01-01' },
    { ...all, scope_id: 'site/shed', device: battery, sign: -1, valid_to: '2026-06-30' },
    { ...all, scope_id: 'site/whole' },
    { ...all, scope_id: 'workgroup' },
  ]);
  expect(await readScopes(connection, 'find_view_absent')).toEqual([
    { scope_id: 'site/metered', role: 'x' },
    { scope_id: 'site/whole', role: 'battery' },
    { scope_id: 'workgroup', role: 'y' },
  ]);
});
