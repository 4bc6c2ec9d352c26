import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { DayDetails, DeviceList, Explained, ExplainedSource } from '../../src/web/facts/answers.ts';
import { DeviceCard } from '../../src/web/pages/device-card.tsx';
import { renderPart } from './support/render-part.ts';

beforeAll(() => {
  vi.useFakeTimers({ now: new Date('2026-05-17T10:00:00Z'), toFake: ['Date'] });
});
afterAll(() => {
  vi.useRealTimers();
});

const ROOF = '0b0e7c1e-0000-4000-8000-000000000001';
const DETAILS = `daily-energy/details?startDate=2026-04-18&endDate=2026-05-17&groupBy=source&devices=${ROOF}`;
const EXPLAINED = `daily-energy/explain?device=${ROOF}&day=2026-05-16`;
const lastSeen = '2026-05-17T09:00:00.000Z';
const since = '2026-05-17T07:00:00.000Z';

const listed: DeviceList['devices'][number] = {
  id: ROOF,
  name: 'Roof',
  state: 'online',
  since,
  reason: null,
  lastSeen,
  sites: ['home', 'all'],
  meters: ['PV-1'],
  sources: [
    { source: 'pv', role: 'production', negativeRole: null, from: null, to: null },
    { source: 'battery', role: 'battery_charge', negativeRole: null, from: null, to: null },
    { source: 'heat', role: null, negativeRole: null, from: null, to: null },
  ],
};
const dayOf = (energyWh: number): DayDetails[string][string] => ({
  energyWh,
  methods: ['total_energy'],
  flags: [],
  coverage: 1,
  status: 'final',
  version: 1,
  computedAt: '2026-05-17T06:00:00.000Z',
});
const drawn = (answers: Record<string, unknown>) =>
  renderPart(
    DeviceCard,
    {
      row: {
        id: ROOF,
        name: 'Roof',
        kind: 'online',
        status: { name: 'Roof', state: 'online', since, reason: null, lastSeen },
      },
      closeHref: '#close',
    },
    answers,
  ).lines;

const head = [
  'Roof',
  'Close {#close}',
  'State',
  '[good] online for 3 hours <since May 17, 2026, 09:00 (Europe/Berlin)>',
  'Since',
  'May 17, 2026, 09:00',
  'Last data',
  '1 hour ago <May 17, 2026, 11:00 (Europe/Berlin)>',
  'Id',
  ROOF,
];
const links = `Its day {#/home/day?device=${ROOF}&day=2026-05-17}Its energy {#/home/energy?show=sources&device=${ROOF}}`;
const whyLink = `Why the number of Sat, May 16, 2026 {#/home/why?device=${ROOF}&day=2026-05-16}`;

test('the state of a device is shown before the rest is known', () => {
  expect(drawn({})).toEqual([...head, links, 'Reading the days of the device …']);
});

test('a device has its sites, its meters, and the roles of its sources', () => {
  expect(
    drawn({ devices: { devices: [{ ...listed, id: 'other', sites: ['shop'] }, listed] } }).slice(head.length),
  ).toEqual([
    ...['Sites', 'home, all', 'Meters', 'PV-1'],
    ...['Sources and roles', 'pv: production, battery: battery charge, heat: no role'],
    links,
    'Reading the days of the device …',
  ]);
});

test('what a device does not have is left out', () => {
  const bare = { ...listed, sites: [], meters: [], sources: [] };
  expect(drawn({ devices: { devices: [bare] } }).slice(head.length)).toEqual([
    links,
    'Reading the days of the device …',
  ]);
});

test('a device without energy says so, and has no number to explain', () => {
  expect(drawn({ [DETAILS]: { '2026-05-15': {}, '2026-05-17': {} } }).slice(head.length)).toEqual([
    links,
    'It has no energy in the last 30 days.',
  ]);
});

test('the energy of a device is shown by source, and its last day before today can be explained', () => {
  const details: DayDetails = {
    '2026-05-15': { [`${ROOF}.pv`]: dayOf(1_000), [ROOF]: dayOf(500) },
    '2026-05-16': { [`${ROOF}.pv`]: dayOf(2_000), [ROOF]: dayOf(500) },
    '2026-05-17': { [`${ROOF}.pv`]: dayOf(100), [ROOF]: dayOf(0) },
  };
  expect(drawn({ [DETAILS]: details }).slice(head.length)).toEqual([
    `${links}${whyLink}`,
    '4.10 kWh {4100} by 2 sources so far in Apr 18 – May 17, 2026. The first data are of Fri, May 15, 2026.',
    'Last 30 days 4.10 kWh {4100}',
    '[pv 3.10 kWh {3100}] <Highlight this series>',
    '[default 1.00 kWh {1000}] <Highlight this series>',
  ]);
});

const limit = (value: number | null) => ({ value, from: 'learnt', text: 'from 30 days' }) as const;
const limits: ExplainedSource['limits'] = {
  maxPowerW: limit(12_500),
  jitterWh: limit(null),
  resolutionWh: limit(null),
  modulusWh: limit(null),
  maxGapMilliseconds: limit(null),
  intervalMilliseconds: limit(null),
};
const tableOf = (...sources: Array<Pick<ExplainedSource, 'source' | 'limits'>>) => {
  const lines = drawn({
    [DETAILS]: { '2026-05-16': { [`${ROOF}.pv`]: dayOf(2_000) } },
    [EXPLAINED]: { sources } as Explained,
  });
  const start = lines.indexOf('Limits by which its readings are judged');
  return start < 0 ? [] : lines.slice(start);
};
const rows = [
  'Limits',
  'Limit | Value | From | Why',
  'Highest power that is believed | 12.5 kW {12500} | learnt | from 30 days',
  '<Limits>',
];

test('the limits of its only source need no name, and those of several have one', () => {
  const title = 'Limits by which its readings are judged';
  expect(tableOf({ source: 'pv', limits }, { source: 'heat', limits: null })).toEqual([title, ...rows]);
  expect(tableOf({ source: 'pv', limits }, { source: 'heat', limits })).toEqual([
    title,
    ...['pv', ...rows],
    ...['heat', ...rows],
  ]);
  expect(tableOf({ source: 'heat', limits: null })).toEqual([]);
});
