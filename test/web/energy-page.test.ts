import { expect, test } from 'vitest';
import type { Balances } from '../../src/web/facts/answers.ts';
import { EnergyPage } from '../../src/web/pages/energy-page.tsx';
import { makeBalance } from './support/make-balance.ts';
import { makeDay } from './support/make-day.ts';
import { renderPart } from './support/render-part.ts';

const GARAGE = '0b0e7c1e-0000-4000-8000-000000000001';
const statuses = { [GARAGE]: { name: 'Garage' } };
const balancePath = (from: string, to: string, grain = 'day') =>
  `balance?startDate=${from}&endDate=${to}&resolution=${grain}`;
const thirtyDays = balancePath('2026-04-18', '2026-05-17');
type Role = Balances[string]['parts'][number]['role'];
const balanceWith = (...roles: Role[]): Balances => ({
  '2026-05-16': makeBalance({
    parts: roles.map((role) => ({ role, device: GARAGE, source: role, wh: 5, within: null })),
  }),
});
const shown = (query: Record<string, string>, answers: Record<string, unknown> = {}, changed = {}) =>
  renderPart(EnergyPage, { query }, { 'device-status': statuses, ...answers }, changed).lines;
/** What can be chosen in a field; the chosen one has a star. */
const choices = (lines: readonly string[], field: string) => lines[lines.indexOf(field) + 1];

test('without an address it is the balance of the last thirty days, and nothing is compared', () => {
  const lines = shown({});
  expect(lines).toContain('[date: 2026-04-18] <First day>–[date: 2026-05-17] <Last day>');
  expect(choices(lines, 'Show')).toBe('*Balance');
  expect(choices(lines, 'Compare with')).toBe('*no other period the period before a year before');
  expect(lines.at(-1)).toBe('Reading energy …');
});

test.each([
  ['2026-05-10', '2026-05-09'],
  ['2026-05', '2026-05-09'],
  ['2021-05-16', '2026-05-17'],
])('a period from %s to %s is not one, so it is the last thirty days', (from, to) => {
  expect(shown({ from, to })).toContain('[date: 2026-04-18] <First day>–[date: 2026-05-17] <Last day>');
});

test('five years are shown by year', () => {
  const answers = { [balancePath('2021-05-17', '2026-05-17', 'year')]: balanceWith('production') };
  expect(choices(shown({ from: '2021-05-17', to: '2026-05-17' }, answers), 'Show')).toBe(
    '*Production Devices Sources',
  );
});

test('two roles are a balance, one role is not, and without roles devices are shown', () => {
  const of = (...roles: Role[]) => choices(shown({}, { [thirtyDays]: balanceWith(...roles) }), 'Show');
  expect(of('grid_import', 'production')).toBe('*Balance Production Grid import Devices Sources');
  expect(of('grid_import')).toBe('*Grid import Devices Sources');
  expect(of()).toBe('*Devices Sources');
});

test('a token of device groups has no balance, and asks for none', () => {
  const workgroup = { id: 'home', maySeeAll: false, mayCorrect: false, mayOperate: false, mayAudit: false };
  const lines = shown({}, { [thirtyDays]: balanceWith('grid_import', 'production') }, { workgroup });
  expect(choices(lines, 'Show')).toBe('*Devices Sources');
});

test('meters and sites with devices can be shown, without a choice of devices', () => {
  const sites = [
    { name: 'Barn', devices: 2 },
    { name: 'Grid', devices: 0 },
  ];
  const answers = { [thirtyDays]: balanceWith() };
  const of = (show: string) => shown({ show }, answers, { meters: [{}], sites });
  expect(choices(of('meters'), 'Show')).toBe('Devices Sources *Meters Site Barn');
  expect(choices(of('site:Barn'), 'Show')).toBe('Devices Sources Meters *Site Barn');
  expect(of('site:Barn')).not.toContain('Device');
  // A site without devices, and a choice that does not exist, are not shown.
  expect(choices(of('site:Grid'), 'Show')).toBe('*Devices Sources Meters Site Barn');
});

test('a device, and a period to compare with, come from the address and stay in its links', () => {
  const query = { from: '2026-05-15', to: '2026-05-16', show: 'devices', device: GARAGE };
  const details = (from: string, to: string) =>
    `daily-energy/details?startDate=${from}&endDate=${to}&devices=${GARAGE}`;
  const answers = {
    [balancePath('2026-05-15', '2026-05-16')]: balanceWith(),
    [details('2026-05-15', '2026-05-16')]: { '2026-05-16': { [GARAGE]: makeDay(300) } },
    [details('2026-05-13', '2026-05-14')]: { '2026-05-14': { [GARAGE]: makeDay(200) } },
    // The same days of the week.
    [details('2025-05-16', '2025-05-17')]: { '2025-05-17': { [GARAGE]: makeDay(100) } },
  };
  const of = (compare: string) => shown({ ...query, compare }, answers);
  expect(choices(of('before'), 'Device')).toBe('All devices *Garage');
  expect(choices(of('before'), 'Compare with')).toBe('no other period *the period before a year before');
  expect(of('before')).toContain('May 15 – 16, 2026 300 Wh {300} May 13 – 14, 2026 200 Wh {200}');
  expect(of('year')).toContain('May 15 – 16, 2026 300 Wh {300} May 16 – 17, 2025 100 Wh {100}');
  expect(of('another')).toContain('May 15 – 16, 2026 300 Wh {300}');
  expect(of('year')[2]).toContain(
    `{#/home/energy?from=2026-05-13&to=2026-05-14&show=devices&device=${GARAGE}&compare=year} <Period before>`,
  );
});
