import { expect, test } from 'vitest';
import type { DeviceList, MeterList, SiteList } from '../../src/web/facts/answers.ts';
import { ConfigurationInForce } from '../../src/web/pages/configuration-in-force.tsx';
import { renderPart } from './support/render-part.ts';

const GARAGE = '0b0e7c1e-0000-4000-8000-000000000001';
const ROOF = '5a7c2f10-0000-4000-8000-000000000002';

type Device = DeviceList['devices'][number];
type Source = Device['sources'][number];
const pv: Source = { source: 'pv', role: 'production', negativeRole: null, from: null, to: null };
const garage: Device = {
  id: GARAGE,
  name: 'Garage',
  state: 'online',
  since: null,
  reason: null,
  lastSeen: null,
  sites: [],
  meters: [],
  sources: [pv],
};
const meter: MeterList['meters'][number] = {
  code: 'GRID-1',
  name: 'street',
  device: null,
  source: null,
  sites: ['home', 'all'],
};
const site: SiteList['sites'][number] = {
  name: 'home',
  meters: ['GRID-1', 'GRID-2'],
  devices: [
    { id: GARAGE, name: 'Garage' },
    { id: ROOF, name: null },
  ],
};

const shown = (devices: Device[], answers: object = { meters: { meters: [] }, sites: { sites: [] } }) =>
  renderPart(ConfigurationInForce, {}, { devices: { devices }, ...answers }).lines;
const sentenceOf = (lines: string[]) => lines[1];
const noRole = { ...garage, sources: [{ ...pv, role: null }] };

test('the zone is in force also in a workgroup without devices', () => {
  expect(shown([])).toEqual([
    'What is in force',
    'Days are those of Europe/Berlin. 0 devices, 0 meters, 0 sites.',
    'Devices and the roles of their sources (0)',
    'Sources and their roles',
    'Device | Source | Role | Role of negative energy | Valid',
    '<Sources and their roles>',
  ]);
});

test('numbers of meters and sites that are not known yet are no zeros', () => {
  expect(sentenceOf(shown([garage], {}))).toBe('Days are those of Europe/Berlin. 1 device.');
  expect(sentenceOf(shown([garage], { sites: { sites: [site] } }))).toBe(
    'Days are those of Europe/Berlin. 1 device, 1 site.',
  );
});

test('each source has its roles and the days for which they hold', () => {
  const sources: Source[] = [
    { ...pv, negativeRole: 'grid_export', role: 'grid_import' },
    { ...pv, source: 'east', from: '2026-05-01' },
    { ...pv, source: 'west', to: '2026-05-31' },
    { ...pv, source: 'heat', role: null, from: '2026-05-01', to: '2026-05-31' },
  ];
  const garageLink = `Garage {#/home/devices?device=${GARAGE}}`;
  expect(
    shown([
      { ...garage, sources },
      { ...garage, id: ROOF, name: null },
    ]).slice(1),
  ).toEqual([
    'Days are those of Europe/Berlin. 2 devices, 0 meters, 0 sites.',
    'Devices and the roles of their sources (5)',
    'Sources and their roles',
    'Device | Source | Role | Role of negative energy | Valid',
    `${garageLink} | pv | grid import | grid export | always`,
    `${garageLink} | east | production | | from Fri, May 1, 2026`,
    `${garageLink} | west | production | | until Sun, May 31, 2026`,
    `${garageLink} | heat | none | | from Fri, May 1, 2026 until Sun, May 31, 2026`,
    `5a7c2f10 {#/home/devices?device=${ROOF}} | pv | production | | always`,
    '<Sources and their roles>',
  ]);
});

test.each([
  [[noRole], '1 device, 0 meters, 0 sites. 1 device has no role, so the balance does not contain it.'],
  [
    [noRole, { ...garage, sources: [] }],
    '2 devices, 0 meters, 0 sites. 2 devices have no role, so the balance does not contain them.',
  ],
  [
    [{ ...garage, sources: [{ ...pv, role: null, negativeRole: 'grid_export' }] }],
    '1 device, 0 meters, 0 sites.',
  ],
])('devices of which no source has a role are counted', (devices, words) => {
  expect(sentenceOf(shown(devices))).toBe(`Days are those of Europe/Berlin. ${words}`);
});

test('each meter says what it is read from, and each site what belongs to it', () => {
  const meters = [
    meter,
    { ...meter, code: 'GRID-2', name: null, device: GARAGE, source: 'pv', sites: [] },
    { ...meter, code: 'GRID-3', device: ROOF },
  ];
  const { lines } = renderPart(
    ConfigurationInForce,
    {},
    { devices: { devices: [garage] }, meters: { meters }, sites: { sites: [site] } },
  );
  expect(lines.slice(lines.indexOf('<Sources and their roles>') + 1)).toEqual([
    'Meters (3)',
    'Meters',
    'Code | Name | Read from | Sites',
    'GRID-1 | street | uploads | home, all',
    'GRID-2 | | Garage · pv |',
    'GRID-3 | street | 5a7c2f10 | home, all',
    '<Meters>',
    'Sites (1)',
    'Sites',
    'Site | Meters | Devices',
    'home | GRID-1, GRID-2 | Garage, 5a7c2f10',
    '<Sites>',
  ]);
});

test('meters are shown before the devices are known, which then have the beginning of their id', () => {
  const meters = [{ ...meter, device: GARAGE }];
  expect(renderPart(ConfigurationInForce, {}, { meters: { meters } }).lines.slice(0, 6)).toEqual([
    'What is in force',
    'Reading the settings …',
    'Meters (1)',
    'Meters',
    'Code | Name | Read from | Sites',
    'GRID-1 | street | 0b0e7c1e | home, all',
  ]);
});
