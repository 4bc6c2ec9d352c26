import { expect, test } from 'vitest';
import type { DayDetails, DeviceStatuses, QualityAnswer } from '../../src/web/facts/answers.ts';
import { QualityPage } from '../../src/web/pages/quality-page.tsx';
import { listDays, shiftDay } from '../../src/web/words/local-days.ts';
import { makeDay } from './support/make-day.ts';
import { renderPart } from './support/render-part.ts';

const idOf = (index: number) => `0b0e7c1e-0000-4000-8000-${String(index).padStart(12, '0')}`;
const [GARAGE, ROOF, CELLAR] = [idOf(1), idOf(2), idOf(3)];
const status: DeviceStatuses[string] = { state: 'online', since: null, reason: null, lastSeen: null };
const statuses = { [GARAGE]: { ...status, name: 'Garage' }, [ROOF]: { ...status, name: 'Roof' } };
const fourDays = { from: '2026-05-14', to: '2026-05-17' };
const range = 'startDate=2026-05-14&endDate=2026-05-17';

const shown = (query: Record<string, string>, answers: Record<string, unknown>, changed = {}) =>
  renderPart(QualityPage, { query }, answers, changed).lines;
const ofSources = (details: DayDetails, devices: DeviceStatuses = statuses) =>
  shown(fourDays, { 'device-status': devices, [`daily-energy/details?${range}&groupBy=source`]: details });
/** What is below the controls of the page. */
const below = (lines: string[]) => lines.slice(lines.findIndex((line) => line.includes('<Rows>')) + 1);

test('without an answer the page says what it reads', () => {
  expect(shown(fourDays, {})).toEqual([
    'Quality',
    'Week {#/home/quality?from=2026-05-11&to=2026-05-17}Month {#/home/quality?from=2026-05-01&to=2026-05-31} <Length of the period>',
    '{#/home/quality?from=2026-05-10&to=2026-05-13} <Period before>May 14 – 17, 2026 <Period>',
    'First and last day',
    '[date: 2026-05-14] <First day>–[date: 2026-05-17] <Last day>',
    'Sources {#/home/quality?from=2026-05-14&to=2026-05-17&by=source}Devices {#/home/quality?from=2026-05-14&to=2026-05-17&by=device} <Rows>',
    'Reading the quality of days …',
  ]);
  expect(below(shown(fourDays, { 'device-status': statuses }))).toEqual(['Reading the quality of days …']);
});

test('a period without energy says so, and names it', () => {
  expect(below(ofSources({}))).toEqual([
    'No energy in this period',
    'Nothing was measured in May 14 – 17, 2026.',
  ]);
});

test('a single day without energy has its own word', () => {
  const day = { from: '2026-05-14', to: '2026-05-14' };
  const path = 'daily-energy/details?startDate=2026-05-14&endDate=2026-05-14&groupBy=source';
  expect(shown(day, { 'device-status': statuses, [path]: {} }).at(-1)).toBe(
    'Nothing was measured on Thu, May 14, 2026.',
  );
});

test('days of sources are counted by how much they can be trusted, and listed newest first', () => {
  const details: DayDetails = {
    '2026-05-14': { [`${GARAGE}.total`]: makeDay(2_000), [`${ROOF}.east`]: makeDay(1_500) },
    '2026-05-15': {
      [`${GARAGE}.total`]: makeDay(null, {
        flags: ['contradicted'],
        methods: ['power_curve', 'total_energy'],
      }),
      [`${ROOF}.east`]: makeDay(3_000, { flags: ['reset'] }),
    },
    '2026-05-16': {
      [`${GARAGE}.total`]: makeDay(12_345, {
        flags: ['glitch', 'partial'],
        coverage: 0.5,
        status: 'restated',
      }),
    },
    '2026-05-17': {
      [`${GARAGE}.total`]: makeDay(400, { flags: ['partial'], coverage: 0.25, status: 'provisional' }),
    },
  };
  expect(below(ofSources(details))).toEqual([
    '57 % {0.5714285714285714} of 7 source days can be trusted without a look. 1 has no data. 1 is partly a guess. 1 is not to be trusted. Rows with the most trouble come first.',
    'Point at a cell, or touch it, to read it. It leads to the explanation of its day.',
    'May 14',
    'complete',
    'repaired, right',
    'partly a guess',
    'not to be trusted',
    'no data',
    'Days to look at',
    'Days with flags, newest first',
    'Day | Source | Energy | Measured | Flags | Method | Status',
    'Sat, May 16, 2026 {#/home/why?device=0b0e7c1e-0000-4000-8000-000000000001&source=total&day=2026-05-16} | Garage · total | 12.3 kWh {12345} | 50 % {0.5} | partly measured <partly measured (partial): only a part of the day is measured>glitch <glitch: low readings are left out> | total energy | restated <it has changed since its period was closed>',
    'Fri, May 15, 2026 {#/home/why?device=0b0e7c1e-0000-4000-8000-000000000001&source=total&day=2026-05-15} | Garage · total | – <not known> | 100 % {1} | contradicted <contradicted: two methods disagree> | power curve, total energy | final <its period is closed>',
    '<Days with flags, newest first>',
    '[Download CSV]',
  ]);
});

test('one day of each kind is counted in the singular, and a device without energy misses all days', () => {
  const details: DayDetails = {
    '2026-05-15': { [`${GARAGE}.default`]: makeDay(1, { flags: ['contradicted'] }) },
    '2026-05-16': { [`${GARAGE}.default`]: makeDay(2, { flags: ['gap'] }) },
  };
  const one = { [GARAGE]: statuses[GARAGE]! };
  expect(below(ofSources(details, one))).toEqual([
    '0 % {0} of 2 source days can be trusted without a look. 1 is partly a guess. 1 is not to be trusted. Rows with the most trouble come first.',
    'Point at a cell, or touch it, to read it. It leads to the explanation of its day.',
    'May 14',
    'partly a guess',
    'not to be trusted',
    'Days to look at',
    'Days with flags, newest first',
    'Day | Source | Energy | Measured | Flags | Method | Status',
    'Sat, May 16, 2026 {#/home/why?device=0b0e7c1e-0000-4000-8000-000000000001&source=default&day=2026-05-16} | Garage | 2 Wh {2} | 100 % {1} | gap <gap: power is missing for some time> | total energy | final <its period is closed>',
    'Fri, May 15, 2026 {#/home/why?device=0b0e7c1e-0000-4000-8000-000000000001&source=default&day=2026-05-15} | Garage | 1 Wh {1} | 100 % {1} | contradicted <contradicted: two methods disagree> | total energy | final <its period is closed>',
    '<Days with flags, newest first>',
    '[Download CSV]',
  ]);
  expect(below(ofSources(details, { ...one, [CELLAR]: status }))[0]).toBe(
    '0 % {0} of 5 source days can be trusted without a look. 3 have no data. 1 is partly a guess. 1 is not to be trusted. Rows with the most trouble come first.',
  );
});

test('a period in which all days can be trusted has nothing to look at', () => {
  const details: DayDetails = { '2026-05-14': { [`${GARAGE}.default`]: makeDay(1) } };
  const lines = ofSources(
    { ...details, '2026-05-15': details['2026-05-14']!, '2026-05-16': details['2026-05-14']! },
    { [GARAGE]: statuses[GARAGE]! },
  );
  expect(below(lines)).toEqual([
    '100 % {1} of 3 source days can be trusted without a look. Rows with the most trouble come first.',
    'Point at a cell, or touch it, to read it. It leads to the explanation of its day.',
    'May 14',
    'complete',
    'Days to look at',
    'None',
    'Every measured day of this period can be trusted.',
  ]);
});

test('devices can be chosen, also for a year, and their sources are added up', () => {
  const details: DayDetails = { '2026-05-14': { [GARAGE]: makeDay(5, { flags: ['gap'] }) } };
  const path = `daily-energy/details?${range}`;
  expect(shown({ ...fourDays, by: 'device' }, { 'device-status': statuses, [path]: details })).toEqual([
    'Quality',
    'Week {#/home/quality?from=2026-05-11&to=2026-05-17&by=device}Month {#/home/quality?from=2026-05-01&to=2026-05-31&by=device}Year {#/home/quality?from=2026-01-01&to=2026-12-31&by=device} <Length of the period>',
    '{#/home/quality?from=2026-05-10&to=2026-05-13&by=device} <Period before>May 14 – 17, 2026 <Period>',
    'First and last day',
    '[date: 2026-05-14] <First day>–[date: 2026-05-17] <Last day>',
    'Sources {#/home/quality?from=2026-05-14&to=2026-05-17&by=source}Devices {#/home/quality?from=2026-05-14&to=2026-05-17&by=device} <Rows>',
    '0 % {0} of 6 device days can be trusted without a look. 5 have no data. 1 is partly a guess. Rows with the most trouble come first.',
    'Point at a cell, or touch it, to read it. It leads to the explanation of its day.',
    'May 14',
    'partly a guess',
    'no data',
    'Days to look at',
    'Days with flags, newest first',
    'Day | Device | Energy | Measured | Flags | Method | Status',
    'Thu, May 14, 2026 {#/home/why?device=0b0e7c1e-0000-4000-8000-000000000001&day=2026-05-14} | Garage | 5 Wh {5} | 100 % {1} | gap <gap: power is missing for some time> | total energy | final <its period is closed>',
    '<Days with flags, newest first>',
    '[Download CSV]',
  ]);
});

test('a long period of devices is only kept while devices are shown', () => {
  const query = { by: 'device', from: '2025-05-18', to: '2026-05-17', page: '2' };
  expect(shown(query, {})).toEqual([
    'Quality',
    'Week {#/home/quality?by=device&from=2026-05-11&to=2026-05-17&page=2}Month {#/home/quality?by=device&from=2026-05-01&to=2026-05-31&page=2}Year {#/home/quality?by=device&from=2026-01-01&to=2026-12-31&page=2} <Length of the period>',
    '{#/home/quality?by=device&from=2024-05-18&to=2025-05-17&page=2} <Period before>May 18, 2025 – May 17, 2026 <Period>',
    'First and last day',
    '[date: 2025-05-18] <First day>–[date: 2026-05-17] <Last day>',
    'Sources {#/home/quality?by=source}Devices {#/home/quality?by=device&from=2025-05-18&to=2026-05-17} <Rows>',
    'Reading the quality of days …',
  ]);
  // 367 days are too many also for devices: the last thirty days are shown.
  expect(shown({ ...query, from: '2025-05-16' }, {})).toContain(
    '{#/home/quality?by=device&from=2026-03-19&to=2026-04-17&page=2} <Period before>Apr 18 – May 17, 2026 <Period>',
  );
});

test('many devices are shown as devices, in pages, and without energy', () => {
  const devices = Object.fromEntries(Array.from({ length: 401 }, (_, index) => [idOf(index), status]));
  const ids = Object.keys(devices).slice(100, 200).join(',');
  const days = listDays('2026-04-01', '2026-05-17');
  const quality: QualityAnswer = {
    startDate: '2026-04-01',
    endDate: '2026-05-17',
    kinds: [
      { coverage: 1, status: 'final', methods: ['total_energy'], flags: [] },
      { coverage: 0.5, status: 'final', methods: ['power_curve'], flags: ['gap'] },
    ],
    devices: { [idOf(100)]: days.map((day) => (day === '2026-05-16' ? 1 : 0)) },
  };
  const query = { from: '2026-04-01', to: '2026-05-17', page: '2' };
  const path = `quality?startDate=2026-04-01&endDate=2026-05-17&devices=${ids}`;
  expect(below(shown(query, { 'device-status': devices, [path]: quality }))).toEqual([
    '1 % {0.009997826559443599} of 4,601 device days can be trusted without a look. 4,554 have no data. 1 is partly a guess. Rows with the most trouble come first.',
    'Point at a cell, or touch it, to read it. It leads to the explanation of its day.',
    'Apr 1',
    'complete',
    'partly a guess',
    'no data',
    'Days to look at',
    'Days with flags, newest first',
    'Day | Device | Measured | Flags | Method | Status',
    'Sat, May 16, 2026 {#/home/why?device=0b0e7c1e-0000-4000-8000-000000000100&day=2026-05-16} | 0b0e7c1e | 50 % {0.5} | gap <gap: power is missing for some time> | power curve | final <its period is closed>',
    '<Days with flags, newest first>',
    '[Download CSV]',
    '1 {#/home/quality?from=2026-04-01&to=2026-05-17&page=1}2 {#/home/quality?from=2026-04-01&to=2026-05-17&page=2}3 {#/home/quality?from=2026-04-01&to=2026-05-17&page=3}4 {#/home/quality?from=2026-04-01&to=2026-05-17&page=4}5 {#/home/quality?from=2026-04-01&to=2026-05-17&page=5} <Pages of devices>',
  ]);
});

test('sources of many devices are read in pages with at most 4,500 values', () => {
  const devices = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [idOf(index), status]));
  const from = shiftDay('2026-05-17', -91);
  // 92 days of 3 sources: 16 devices have 4,416 values.
  const path = `daily-energy/details?startDate=${from}&endDate=2026-05-17&groupBy=source&devices=${idOf(16)}`;
  const lines = shown(
    { by: 'source', from, to: '2026-05-17', page: '2' },
    { 'device-status': devices, [path]: {} },
  );
  expect(below(lines)).toEqual([
    'No energy in this period',
    'Nothing was measured in Feb 15 – May 17, 2026.',
    '1 {#/home/quality?by=source&from=2026-02-15&to=2026-05-17&page=1}2 {#/home/quality?by=source&from=2026-02-15&to=2026-05-17&page=2} <Pages of devices>',
  ]);
});
