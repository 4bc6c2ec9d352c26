import { expect, test } from 'vitest';
import { DayStepper } from '../../src/web/parts/day-stepper.tsx';
import { renderPart } from './support/render-part.ts';

const drawn = (day: string) =>
  renderPart(DayStepper, { day, today: '2026-05-17', linkTo: (other) => `#${other}` });

test('a day leads to the day before and the day after, also over the end of a month', () => {
  expect(drawn('2026-03-01').lines).toEqual([
    '{#2026-02-28} <Day before>Sun, Mar 1, 2026 {#2026-03-02} <Day after> <Day>',
    '[date: 2026-03-01] <Day>',
  ]);
});

test('yesterday leads to today, and today leads no further', () => {
  expect(drawn('2026-05-16').lines[0]).toMatch('{#2026-05-17} <Day after>');
  const part = drawn('2026-05-17');
  expect(part.lines[0]).toBe('{#2026-05-16} <Day before>Sun, May 17, 2026 <Day>');
  expect(part.elements('input')[0]).toMatchObject({ value: '2026-05-17', max: '2026-05-17' });
});
