import { expect, test } from 'vitest';
import { ExportsPage } from '../../src/web/pages/exports-page.tsx';
import { renderPart } from './support/render-part.ts';

const shown = (query: Record<string, string>, maySeeAll: boolean) =>
  renderPart(
    ExportsPage,
    { query },
    {},
    { workgroup: { id: 'home', maySeeAll, mayCorrect: true, mayOperate: true, mayAudit: true } },
  );
const changed = [
  'Closed days that have changed',
  'Last week {#/home/exports?since=week}Last 30 days {#/home/exports?since=month}Last year {#/home/exports?since=year} <Changed in>',
  'Reading changed days …',
];

test('the page has the exports and the closed days that have changed', () => {
  expect(shown({}, true).lines).toEqual([
    'Exports and changes',
    'Scheduled exports',
    'Reading the exports …',
    ...changed,
  ]);
});

test('a token of some devices sees no exports', () => {
  expect(shown({}, false).lines).toEqual(['Exports and changes', ...changed]);
});

test('the time of the address is chosen', () => {
  expect(
    shown({ since: 'month' }, false)
      .elements('a')
      .map((link) => link['aria-current']),
  ).toEqual([undefined, 'true', undefined]);
});
