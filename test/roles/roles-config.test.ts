import { expect, test } from 'vitest';
import { workgroupSchema } from '../../src/config/workgroup-settings.ts';
import { zodProblems } from '../../src/config/zod-problems.ts';
import { inWords } from '../../src/lib/input-words.ts';
import { deviceId } from '../support/messages.ts';

const garage = deviceId(1);
const base = {
  id: 'home',
  devices: [
    { id: garage, name: 'garage' },
    { id: deviceId(2), name: 'heat' },
  ],
};

/** Problems as `path: message`. */
function problemsOf(settings: object): string[] {
  const parsed = workgroupSchema.safeParse({ ...base, ...settings }, inWords);
  return parsed.success ? [] : zodProblems(parsed.error).map(({ path, message }) => `${path}: ${message}`);
}
const main = { device: 'garage', source: 'main', role: 'consumption' };
const refused = (roles: object[], more: object = {}) => problemsOf({ roles, ...more }).join('\n');

test('the examples of the page are valid', () => {
  expect(
    problemsOf({
      roles: [
        { source: 'grid_import*', role: 'grid_import' },
        { ...main, to: '2026-03-31' },
        { ...main, role: 'grid_import', from: '2026-04-01' },
        { device: 'heat', source: 'total', role: 'consumption', within: 'garage.main', to: '2026-03-31' },
        { device: 'heat', source: 'rod', role: 'consumption', within: 'site' },
        { device: 'heat', source: 'day', role: 'consumption', from: '2026-04-01', to: '2026-04-01' },
        { device: 'heat', source: 'net', role: 'grid_import', negativeRole: 'grid_export' },
        { device: 'heat', source: 'idle', role: 'production', negativeRole: 'other' },
      ],
      devices: [
        { ...base.devices[0], energyRole: 'production', peakPower: [{ kWp: 9.6, from: '2026-01-01' }] },
        base.devices[1],
      ],
      sites: [{ name: 'home', absent: ['grid_export'] }],
    }),
  ).toEqual([]);
});

test.each<[name: string, roles: object[], message: RegExp]>([
  [
    'an unknown role',
    [{ ...main, role: 'solar' }],
    /^roles\.0\.role: must be one of production, consumption/,
  ],
  ['neither device nor source', [{ role: 'production' }], /^roles\.0\.source: is missing: name a source/],
  [
    'a device that is not there',
    [{ ...main, device: 'gerage' }],
    /^roles\.0\.device: "gerage" is neither the id nor the name of a device; devices has garage, heat$/,
  ],
  [
    'two exact entries on one day, the later one first',
    [
      { ...main, from: '2026-03-31' },
      { ...main, role: 'grid_import', to: '2026-03-31' },
    ],
    /^roles\.1\.source: device ".*", source "main" already has a role at that time/,
  ],
  [
    'two exact entries on one day',
    [
      { ...main, to: '2026-03-31' },
      { ...main, device: garage, role: 'grid_import', from: '2026-03-31' },
    ],
    /^roles\.1\.source: device ".*", source "main" already has a role at that time \(roles\.0, consumption\); end one/,
  ],
  [
    'an end before the beginning',
    [{ ...main, from: '2026-04-01', to: '2026-03-31' }],
    /^roles\.0\.to: is before from/,
  ],
  [
    'a day that does not exist',
    [{ ...main, from: '2026-02-30' }],
    /^roles\.0\.from: must be a day that exists/,
  ],
  [
    'a negative role that goes the same way',
    [{ ...main, negativeRole: 'grid_export' }],
    /^roles\.0\.negativeRole: must have the opposite direction of consumption, such as production or other$/,
  ],
  [
    'a negative role of what has no direction',
    [{ ...main, role: 'other', negativeRole: 'grid_export' }],
    /^roles\.0\.negativeRole: is not possible with role other; remove it$/,
  ],
  [
    'a negative role other of other',
    [{ ...main, role: 'other', negativeRole: 'other' }],
    /^roles\.0\.negativeRole: is not possible with role other; remove it$/,
  ],
  [
    'a part that is never added up',
    [{ ...main, role: 'other', within: 'site' }],
    /^roles\.0\.within: has no effect with role other, which is never added up; remove it$/,
  ],
  [
    'a parent that is no source',
    [{ ...main, within: 'house' }],
    /^roles\.0\.within: must be "site", or a device, a dot and a source/,
  ],
  [
    'a parent of an unknown device',
    [{ ...main, within: 'house.main' }],
    /^roles\.0\.within: "house\.main" must begin with the id or the name of a device and a dot/,
  ],
  [
    'a parent without a role',
    [{ ...main, within: 'heat.total' }],
    /^roles\.0\.within: "heat\.total" has no role at that time/,
  ],
  [
    'a parent of another role',
    [
      { ...main, within: 'heat.total' },
      { device: 'heat', source: 't*', role: 'production' },
    ],
    /^roles\.0\.within: "heat\.total" has the role production \(roles\.1\) and this source has consumption/,
  ],
  [
    'a source within itself by a pattern',
    [{ device: 'garage', source: 'm*', role: 'consumption', within: 'garage.main' }],
    /^roles\.0\.within: forms a circle: garage\.main within garage\.main; remove one of them$/,
  ],
  [
    'a circle of two on some days',
    [
      { ...main, within: 'heat.total' },
      { device: 'heat', source: 'total', role: 'consumption', to: '2026-03-31' },
      { device: 'heat', source: 'total', role: 'consumption', from: '2026-04-01', within: 'garage.main' },
    ],
    /^roles\.0\.within: forms a circle: heat\.total within garage\.main within heat\.total.*\nroles\.2\.within: forms a circle/,
  ],
])('%s is refused, and says why', (_, roles, message) => {
  expect(refused(roles)).toMatch(message);
});

test('a parent must have the role of its part on the days of the part only', () => {
  const part = { ...main, within: 'heat.total', from: '2026-04-01' };
  const total = { device: 'heat', source: 'total' };
  const before = { ...total, role: 'production', to: '2026-03-31' };
  expect(refused([part, before, { ...total, role: 'consumption', from: '2026-04-01' }])).toBe('');
  expect(refused([part, before])).toMatch(/^roles\.0\.within: "heat\.total" has no role at that time/);
  const signed = { role: 'grid_import', negativeRole: 'grid_export' };
  expect(
    refused([
      { ...main, role: 'grid_import', within: 'heat.total' },
      { ...total, ...signed },
    ]),
  ).toMatch(/has the role grid_import\/grid_export \(roles\.1\) and this source has grid_import:/);
});

test('two patterns may give a source a role on one day, because the first counts', () => {
  expect(
    refused([
      { ...main, source: 'm?in' },
      { ...main, source: 'm?in', role: 'production' },
    ]),
  ).toBe('');
});

test('a total source cannot be within a part of itself', () => {
  const roles = [main, { device: 'garage', source: 'all', role: 'consumption', within: 'garage.main' }];
  expect(refused(roles, { totalSource: 'all' })).toMatch(
    /^roles\.1\.within: "garage\.main" is a part of the total source of its device, which contains it already/,
  );
  expect(refused(roles)).toBe('');
  // A pattern that takes in the total source puts it within itself.
  const all = { device: 'garage', source: '*', role: 'consumption', within: 'garage.all' };
  expect(refused([all], { totalSource: 'all' })).toMatch(
    /^roles\.0\.within: forms a circle: garage\.all within garage\.all/,
  );
});

test("a meter's direction agrees with the role of its source, or of its device", () => {
  const meters = (more: object) => ({
    meters: [{ code: 'M', device: garage, direction: 'import', ...more }],
  });
  expect(refused([main], meters({ source: 'main' }))).toBe(
    'meters.0.direction: meter "M" has direction: import, which means grid_import, and its source has the role consumption (roles.0); correct one of them',
  );
  expect(refused([{ ...main, role: 'other' }], meters({ source: 'main' }))).toBe('');
  const signed = { ...main, role: 'grid_export', negativeRole: 'grid_import' };
  expect(refused([signed], meters({ source: 'main' }))).toBe('');
  expect(refused([], meters({}))).toBe('');
  const devices = [{ id: garage, energyRole: 'production' }];
  expect(problemsOf({ devices, ...meters({}) }).join()).toMatch(
    /^meters\.0\.direction: .* the energyRole of its device is production/,
  );
});

test('a role that a source of the site has cannot be absent', () => {
  const sites = [{ name: 'home', devices: [{ id: garage }], absent: ['consumption'] }];
  expect(refused([main], { sites })).toMatch(
    /^sites\.0\.absent\.0: source "main" of device \S+ has the role consumption/,
  );
  expect(refused([{ ...main, role: 'production', negativeRole: 'consumption' }], { sites })).toMatch(
    /has the role consumption/,
  );
  for (const member of [{ id: deviceId(2) }, { id: garage, source: 'roof' }])
    expect(refused([main], { sites: [{ ...sites[0], devices: [member] }] })).toBe('');
});

test('peak power has one value from each day on', () => {
  const peak = (peakPower: object[]) => problemsOf({ devices: [{ id: garage, peakPower }] }).join('\n');
  expect(peak([{ kWp: 4 }, { kWp: 5, from: '2026-01-01' }])).toBe('');
  expect(peak([{ kWp: 4 }, { kWp: 5 }])).toMatch(/^devices\.0\.peakPower\.1\.from: is missing/);
  expect(peak([{ kWp: 0 }])).toMatch(/^devices\.0\.peakPower\.0\.kWp: must be more than 0/);
  expect(peak([])).toMatch(/^devices\.0\.peakPower: must have an entry/);
});
