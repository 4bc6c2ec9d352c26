import { expect, test } from 'vitest';
import { workgroupSchema } from '../../src/config/workgroup-settings.ts';
import { createRoleResolver, parseSourceKey } from '../../src/roles/resolve-roles.ts';
import { deviceId } from '../support/messages.ts';

const [garage, heat] = [deviceId(1), deviceId(2)];
const devices = [
  { id: garage, name: 'garage' },
  { id: heat, name: 'heat.pump' },
];

function resolverOf(roles: object[], settings: object = {}) {
  return createRoleResolver(workgroupSchema.parse({ id: 'home', devices, roles, ...settings }));
}

/** Roles of a source as `role from..to`. */
function rolesOf(roles: object[], source: string, device = garage): string[] {
  return resolverOf(roles)
    .spansOf({ device, source })
    .map(({ role, from = '', to = '' }) => `${role} ${from}..${to}`);
}

test('an exact device and source beat a device and a pattern, then an exact source, then a pattern, then the order of the list', () => {
  const roles = [
    { source: '*', role: 'other' },
    { source: 'm*', role: 'battery_charge' },
    { source: 'main', role: 'grid_export' },
    { device: 'Garage', source: 'm?in', role: 'production' },
    { device: garage, source: 'main', role: 'consumption' },
  ];
  expect(rolesOf(roles, 'main')).toEqual(['consumption ..']);
  expect(rolesOf(roles.slice(0, 4), 'main')).toEqual(['production ..']);
  expect(rolesOf(roles.slice(0, 3), 'main')).toEqual(['grid_export ..']);
  expect(rolesOf(roles.slice(0, 2), 'main')).toEqual(['other ..']);
  expect(rolesOf(roles, 'main', heat)).toEqual(['grid_export ..']);
  expect(rolesOf([{ device: 'garage', role: 'production' }, ...roles], 'x')).toEqual(['production ..']);
  expect(rolesOf([{ source: 'a.b', role: 'production' }], 'axb')).toEqual([]);
});

test('an entry counts on its days, and on the others the next best does', () => {
  const roles = [
    { device: 'garage', source: 'main', role: 'consumption', to: '2026-03-31' },
    { device: 'garage', source: 'main', role: 'grid_import', from: '2026-05-01', to: '2026-05-31' },
    { source: 'm*', role: 'other', from: '2026-05-15' },
  ];
  expect(rolesOf(roles, 'main')).toEqual([
    'consumption ..2026-03-31',
    'grid_import 2026-05-01..2026-05-14',
    'grid_import 2026-05-15..2026-05-31',
    'other 2026-06-01..',
  ]);
});

test('a total source contains the other sources of its device with its role, on the days when it has that role', () => {
  const resolver = resolverOf(
    [
      { source: 'l?', role: 'consumption' },
      { source: 'pv', role: 'production' },
      { source: 'total', role: 'consumption', from: '2026-02-01' },
    ],
    { totalSource: 'total' },
  );
  const known = ['l1', 'pv', 'total'].map((source) => ({ device: garage, source }));
  const parent = { device: garage, source: 'total' };
  expect(resolver.spans([...known, { device: heat, source: 'l1' }])).toEqual([
    expect.objectContaining({ source: 'l1', from: undefined, to: '2026-01-31', within: undefined }),
    expect.objectContaining({ source: 'l1', from: '2026-02-01', to: undefined, within: parent }),
    expect.objectContaining({ source: 'pv', within: undefined }),
    expect.objectContaining({ source: 'total', within: undefined }),
    // This device has no total source.
    expect.objectContaining({ device: heat, source: 'l1', within: undefined }),
  ]);
});

test("a device's own total source counts instead of that of the workgroup, if it is there", () => {
  const own = { devices: [{ id: garage, totalSource: 'meter' }], totalSource: 'total' };
  const resolver = resolverOf([{ source: '*', role: 'consumption' }], own);
  const within = (...sources: string[]) =>
    resolver.spans(sources.map((source) => ({ device: heat, source }))).map((span) => span.within);
  expect(resolver.spans([{ device: garage, source: 'total' }])).toMatchObject([
    { source: 'total', within: { device: garage, source: 'meter' } },
    { source: 'meter', within: undefined },
  ]);
  expect(within('l1').slice(0, 1)).toEqual([undefined]);
  expect(within('l1', 'total').slice(0, 2)).toEqual([{ device: heat, source: 'total' }, undefined]);
});

test('a total source with another role in one direction contains no others', () => {
  const roles = [
    { source: 'total', role: 'grid_import', negativeRole: 'grid_export' },
    { source: 'l1', role: 'grid_import' },
  ];
  const resolver = resolverOf(roles, { totalSource: 'total' });
  const known = ['l1', 'total'].map((source) => ({ device: garage, source }));
  expect(resolver.spans(known)).toMatchObject([{ within: undefined }, { within: undefined }]);
});

test('sources that take no part in the balance are not within a total source that takes none either', () => {
  const resolver = resolverOf([{ source: '*', role: 'other' }], { totalSource: 'total' });
  const known = ['l1', 'total'].map((source) => ({ device: garage, source }));
  expect(resolver.spans(known)).toMatchObject([
    { source: 'l1', role: 'other', within: undefined },
    { source: 'total', role: 'other', within: undefined },
  ]);
});

test('a source that is within another one by its own setting stays there, for every total source of its device', () => {
  const roles = [
    { device: 'garage', source: 'l1', role: 'consumption', within: 'site' },
    { source: 'total', role: 'consumption' },
  ];
  const resolver = resolverOf(roles, { totalSource: 'total' });
  expect(resolver.spans([{ device: garage, source: 'total' }])).toMatchObject([
    { source: 'total', within: undefined },
    { source: 'l1', within: 'site' },
  ]);
});

test('sources with exact names are known before their first message', () => {
  const resolver = resolverOf([
    { device: 'garage', source: 'pv', role: 'production' },
    { device: 'garage', source: 'l1', role: 'consumption', within: 'heat.pump.total' },
    { device: heat, source: 'total', role: 'consumption' },
  ]);
  expect(resolver.spans([]).map(({ device, source, within }) => [device, source, within])).toEqual([
    [garage, 'pv', undefined],
    [garage, 'l1', { device: heat, source: 'total' }],
    [heat, 'total', undefined],
  ]);
});

test('a device in front of a dot may have dots in its name, and sources too', () => {
  expect(parseSourceKey('heat.pump.total.l1', devices)).toEqual({ device: heat, source: 'total.l1' });
  expect(parseSourceKey(`${garage}.x`, devices)).toEqual({ device: garage, source: 'x' });
  expect(parseSourceKey('nobody.x', devices)).toBeUndefined();
  expect(parseSourceKey('garage.', devices)).toBeUndefined();
});
