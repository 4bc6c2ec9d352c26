import { expect, test } from 'vitest';
import { PeriodPicker, StepLink } from '../../src/web/parts/period-picker.tsx';
import type { ShownPeriod } from '../../src/web/words/periods.ts';
import { renderPart } from './support/render-part.ts';

const linkTo = ({ from, to }: ShownPeriod) => `#${from}/${to}`;
const drawn = (from: string, to: string, today = '2026-05-17', changed = {}) =>
  renderPart(PeriodPicker, { period: { from, to }, today, linkTo, ...changed });
/** The chosen length. */
const chosenOf = ({ elements }: ReturnType<typeof drawn>) =>
  elements('a').flatMap((link) => (link['aria-current'] === 'true' ? link.href : []));

test('a month leads to its last week and its year, and to the months beside it', () => {
  const part = drawn('2026-03-01', '2026-03-31');
  expect(part.lines).toEqual([
    'Week {#2026-03-30/2026-04-05}Month {#2026-03-01/2026-03-31}Year {#2026-01-01/2026-12-31} <Length of the period>',
    '{#2026-02-01/2026-02-28} <Period before>March 2026 {#2026-04-01/2026-04-30} <Period after> <Period>',
    'First and last day',
    '[date: 2026-03-01] <First day>–[date: 2026-03-31] <Last day>',
  ]);
  expect(chosenOf(part)).toEqual(['#2026-03-01/2026-03-31']);
});

test('another length of the current month contains today, and nothing leads to the future', () => {
  expect(drawn('2026-05-01', '2026-05-31').lines.slice(0, 2)).toEqual([
    'Week {#2026-05-11/2026-05-17}Month {#2026-05-01/2026-05-31}Year {#2026-01-01/2026-12-31} <Length of the period>',
    '{#2026-04-01/2026-04-30} <Period before>May 2026 <Period>',
  ]);
});

test('a month in the future has its own last week', () => {
  expect(drawn('2026-06-01', '2026-06-30').lines[0]).toMatch('Week {#2026-06-29/2026-07-05}');
});

test('a month that begins today is the current one', () => {
  expect(drawn('2026-05-01', '2026-05-31', '2026-05-01').lines[0]).toMatch('Week {#2026-04-27/2026-05-03}');
});

test('a period that begins today can be reached', () => {
  const lines = (today: string) => drawn('2026-05-10', '2026-05-12', today).lines[1];
  expect(lines('2026-05-13')).toBe(
    '{#2026-05-07/2026-05-09} <Period before>May 10 – 12, 2026 {#2026-05-13/2026-05-15} <Period after> <Period>',
  );
  expect(lines('2026-05-12')).toBe('{#2026-05-07/2026-05-09} <Period before>May 10 – 12, 2026 <Period>');
});

test.each([
  ['2026-05-11', '2026-05-17', ['#2026-05-11/2026-05-17']],
  ['2025-01-01', '2025-12-31', ['#2025-01-01/2025-12-31']],
  ['2026-05-10', '2026-05-16', []],
])('from %s to %s', (from, to, chosen) => {
  expect(chosenOf(drawn(from, to))).toEqual(chosen);
});

test('a page can leave lengths out', () => {
  expect(drawn('2026-03-01', '2026-03-31', undefined, { kinds: ['year', 'month'] }).lines[0]).toBe(
    'Year {#2026-01-01/2026-12-31}Month {#2026-03-01/2026-03-31} <Length of the period>',
  );
});

test('a step without an address is shown, and leads nowhere', () => {
  const step = (to: 'left' | 'right', href: string | undefined) =>
    renderPart(StepLink, { to, href, label: 'There' });
  expect(step('left', undefined).elements('span')).toEqual([{ class: 'step off' }]);
  expect(step('left', undefined).elements('path')).toEqual([{ d: 'M10 3L5 8l5 5' }]);
  expect(step('right', '#there').lines).toEqual(['{#there} <There>']);
  expect(step('right', '#there').elements('path')).toEqual([{ d: 'M6 3l5 5-5 5' }]);
});
