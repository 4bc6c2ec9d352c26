import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { DayDetails, DeviceStatuses } from '../../src/web/facts/answers.ts';
import { DevicesPage } from '../../src/web/pages/devices-page.tsx';
import { renderPart } from './support/render-part.ts';

beforeAll(() => {
  vi.useFakeTimers({ now: new Date('2026-05-17T10:00:00Z'), toFake: ['Date'] });
});
afterAll(() => {
  vi.useRealTimers();
});

type Status = DeviceStatuses[string];
const idOf = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const [GARAGE, ROOF] = [idOf(1), idOf(2)];
const online: Status = {
  name: 'Roof',
  state: 'online',
  since: null,
  reason: null,
  lastSeen: '2026-05-17T09:59:30.000Z',
};
const offline: Status = {
  ...online,
  name: 'Garage',
  state: 'offline',
  since: '2026-05-17T07:00:00.000Z',
  reason: 'timeout',
  lastSeen: '2026-05-17T06:50:00.000Z',
};
const silent: Status = { ...online, lastSeen: '2026-05-15T10:00:00.000Z' };
const heard: Status = { ...online, state: 'unknown' };
const asleep: Status = { ...offline, reason: 'asleep' };
const unknown: Status = { ...online, state: 'unknown', lastSeen: null };

const dayOf = (energyWh: number | null): DayDetails[string][string] => ({
  energyWh,
  methods: ['total_energy'],
  flags: [],
  coverage: 1,
  status: 'final',
  version: 1,
  computedAt: '2026-05-17T06:00:00.000Z',
});
const drawn = (statuses: DeviceStatuses, query: Record<string, string> = {}, answers: object = {}) =>
  renderPart(DevicesPage, { query }, { 'device-status': statuses, ...answers });
/** As many devices as there are states, in their order. */
const withStates = (...states: Status[]) =>
  Object.fromEntries(states.map((status, index) => [idOf(index + 1), status]));
const sentenceOf = (...states: Status[]) => drawn(withStates(...states)).lines[2];
const two = { [ROOF]: online, [GARAGE]: offline };
const detailsOf = (ids: string[]) =>
  `daily-energy/details?startDate=2026-04-18&endDate=2026-05-17&devices=${ids.join(',')}`;

test('without devices it says when one appears', () => {
  expect(drawn({}).lines).toEqual([
    'Devices',
    'No devices',
    'No device is configured, and none has sent anything. A device appears here with its first message.',
  ]);
});

test('devices that need a look come first, with their energy of yesterday and of thirty days', () => {
  const details: DayDetails = {
    '2026-05-14': { [GARAGE]: dayOf(1) },
    '2026-05-16': { [GARAGE]: dayOf(12_345) },
  };
  const part = drawn(two, {}, { [detailsOf([GARAGE, ROOF])]: details });
  expect(part.lines).toEqual([
    'Devices',
    'All 2 {#/home/devices}Offline 1 {#/home/devices?state=offline}Online 1 {#/home/devices?state=online} <State>',
    '1 of 2 devices is online. 1 is offline and should be looked at. The newest data came just now.',
    'Devices; those that need a look come first',
    'Device | State | Last data | Yesterday | Last 30 days',
    `Garage {#/home/devices?device=${GARAGE}} | [bad] offline for 3 hours <since May 17, 2026, 09:00 (Europe/Berlin)>, timeout | 3 hours ago <May 17, 2026, 08:50 (Europe/Berlin)> | 12.3 kWh {12345} | 1 day without data`,
    `Roof {#/home/devices?device=${ROOF}} | [good] online | just now <May 17, 2026, 11:59 (Europe/Berlin)> | – <not known> | no energy`,
    '<Devices; those that need a look come first>',
    '[Download CSV]',
    '<Devices>',
  ]);
  // The days from the first one with data on; today is not over.
  expect(part.elements('rect').map((bar) => [bar.class, bar.x])).toEqual([
    ['bar tone-1', '26.1'],
    ['spark-missing', '27.1'],
    ['bar tone-1', '28.1'],
  ]);
});

test('a device with energy on each day has no words about missing days', () => {
  const details: DayDetails = {
    '2026-05-16': { [ROOF]: dayOf(0) },
    '2026-05-17': { [ROOF]: dayOf(5) },
  };
  const { lines } = drawn({ [ROOF]: online }, {}, { [detailsOf([ROOF])]: details });
  expect(lines[5]).toMatch('| 0 Wh {0} | 2 days, none without data');
});

test('without the energy the devices are shown', () => {
  expect(drawn({ [ROOF]: online }).lines[5]).toMatch(/ \| – <not known> \|$/);
});

test.each<[Status[], string]>([
  [[online, online], '2 of 2 devices are online. The newest data came just now.'],
  [
    [offline, offline],
    '0 of 2 devices are online. 2 are offline and should be looked at. The newest data came 3 hours ago.',
  ],
  [[silent], '0 of 1 device is online. 1 has sent nothing for a day. The newest data came 2 days ago.'],
  [
    [silent, silent],
    '0 of 2 devices are online. 2 have sent nothing for a day. The newest data came 2 days ago.',
  ],
  [[asleep], '0 of 1 device is online. 1 is asleep, as announced. The newest data came 3 hours ago.'],
  [
    [online, asleep, asleep],
    '1 of 3 devices is online. 2 are asleep, as announced. The newest data came just now.',
  ],
  [[unknown], '0 of 1 device is online. 1 never sent anything.'],
  [
    [heard, unknown],
    '1 of 2 devices sends data. The service does not report silent devices; the setting stream.deviceTimeout changes that. 1 never sent anything. The newest data came just now.',
  ],
  [
    [online, heard, heard],
    '1 of 3 devices is online. 2 of 3 devices send data. The service does not report silent devices; the setting stream.deviceTimeout changes that. The newest data came just now.',
  ],
])('the sentence of some devices: %#', (states, words) => {
  expect(sentenceOf(...states)).toBe(words);
});

test('each state that a device has can be chosen, and the links keep the rest of the address', () => {
  const part = drawn(withStates(online, unknown, asleep, heard, silent, offline), {
    state: 'silent',
    page: '2',
    find: 'o',
  });
  const [all, ...others] = part.lines[1]!.split('}');
  expect(all).toBe('All 6 {#/home/devices?find=o');
  expect(others.slice(0, -1).map((link) => link.split(' {')[0])).toEqual([
    'Offline 1',
    'Silent for a day 1',
    'Online 1',
    'Sending data 1',
    'Asleep 1',
    'Never sent data 1',
  ]);
  expect(others[1]).toBe('Silent for a day 1 {#/home/devices?state=silent&find=o');
  expect(
    part
      .elements('a')
      .filter((link) => link['aria-current'])
      .map(({ href }) => href),
  ).toEqual(['#/home/devices?state=silent&find=o']);
});

/** The devices of the table. */
const namesOf = ({ lines }: ReturnType<typeof drawn>) =>
  lines.filter((line) => / \| \[\w+\] /.test(line)).map((line) => line.split(' {')[0]);

test('a state, a part of a name and a part of an id choose devices', () => {
  expect(namesOf(drawn(two, { state: 'online' }))).toEqual(['Roof']);
  expect(namesOf(drawn(two, { state: 'nonsense' }))).toEqual(['Garage', 'Roof']);
  expect(namesOf(drawn(two, { find: 'GARA' }))).toEqual(['Garage']);
  expect(namesOf(drawn(two, { find: '0002' }))).toEqual(['Roof']);
  expect(drawn(two, { find: 'cellar' }).lines.slice(3)).toEqual([
    'No device is found',
    'Choose another state, or another name.',
    '<Devices>',
  ]);
});

test('more than ten devices can be searched, and more than fifty have pages', () => {
  const many = (count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [idOf(index), { ...online, name: `Meter ${index + 1}` }]),
    );
  expect(drawn(many(10)).lines.join()).not.toMatch('Find a device');
  expect(drawn(many(11), { find: 'meter' }).lines[2]).toBe('Find a device[search: meter]');
  const second = drawn(many(51), { page: '2' });
  expect(namesOf(second)).toEqual(['Meter 51']);
  expect(second.lines.slice(-2)).toEqual([
    '1 {#/home/devices?page=1}2 {#/home/devices?page=2} <Pages of devices>',
    '<Devices>',
  ]);
  expect(namesOf(drawn(many(51)))).toHaveLength(50);
});

test('the device of the address has a card above the list, which can be closed', () => {
  const { lines } = drawn(two, { device: ROOF, state: 'offline' });
  expect(lines.slice(2, 4)).toEqual(['Roof', 'Close {#/home/devices?state=offline}']);
  expect(namesOf(drawn(two, { device: ROOF, state: 'offline' }))).toEqual(['Garage']);
});
