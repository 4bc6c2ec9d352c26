import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Address } from '../../src/web/app/address.ts';
import { Shell } from '../../src/web/app/shell.tsx';
import { renderPart } from './support/render-part.ts';

// Node has no storage of a browser. Nothing is stored there.
beforeAll(() => {
  vi.stubGlobal('localStorage', { getItem: () => null });
});
afterAll(() => {
  vi.unstubAllGlobals();
});

const may = { maySeeAll: true, mayCorrect: true, mayOperate: true, mayAudit: true };
const workgroups = [
  { id: 'farm', ...may },
  { id: 'home', ...may },
];
const drawn = (changed: Partial<Address>, subject = 'ada') =>
  renderPart(Shell, {
    session: { token: 'token', subject, workgroups },
    address: { workgroup: 'home', page: 'overview', query: {}, ...changed },
    onSignedOut: () => undefined,
  });
const pagesOf = (changed: Partial<Address>) =>
  drawn(changed)
    .elements('a')
    .filter(({ class: name, href }) => name !== 'home' && href !== 'docs');
const currentOf = (changed: Partial<Address>) =>
  pagesOf(changed)
    .filter((link) => link['aria-current'] !== undefined)
    .map((link) => [link.href, link['aria-current']]);

test('the frame has the workgroup, the pages, the theme and the way out', () => {
  expect(drawn({}).lines).toEqual([
    '[To the content]',
    'Wattline {#/home/overview} <Wattline, overview>',
    'Workgroup',
    'farm *home',
    `Overview {#/home/overview}Energy {#/home/energy}Day {#/home/day}Quality {#/home/quality}Devices {#/home/devices}Budgets {#/home/budgets}Exports {#/home/exports}Pipeline {#/home/pipeline}Configuration {#/home/configuration} <Pages>`,
    '[] <Theme: system. Change to light> <Theme: system. Change to light>[Sign out]',
    'Reading the workgroup …',
    'Signed in as ada. API {docs}',
  ]);
});

test('a token without a name signs nobody in by name', () => {
  expect(drawn({}, '').lines.at(-1)).toBe('API {docs}');
});

test('a workgroup that the token does not have is the first one', () => {
  for (const workgroup of ['other', undefined])
    expect(drawn({ workgroup }).lines.slice(1, 4)).toEqual([
      'Wattline {#/farm/overview} <Wattline, overview>',
      'Workgroup',
      '*farm home',
    ]);
});

test('the current page is marked, and Quality for the page behind a number', () => {
  expect(currentOf({ page: 'devices' })).toEqual([['#/home/devices', 'page']]);
  expect(currentOf({ page: 'why' })).toEqual([['#/home/quality', 'true']]);
});

test('a period is kept from one page of periods to another', () => {
  const query = { from: '2026-05-01', to: '2026-05-31', show: 'sources' };
  const linksWithPeriod = (page: Address['page']) =>
    pagesOf({ page, query }).flatMap(({ href }) => (href!.includes('?') ? href : []));
  expect(linksWithPeriod('energy')).toEqual([
    '#/home/quality?from=2026-05-01&to=2026-05-31',
    '#/home/budgets?from=2026-05-01&to=2026-05-31',
  ]);
  expect(linksWithPeriod('day')).toEqual([]);
});

test('each page has a class of its own', () => {
  expect(drawn({ page: 'pipeline' }).elements('main')[0]!.class).toBe('page page-pipeline');
});
