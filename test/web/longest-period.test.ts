import { expect, test } from 'vitest';
import { DAYS_MAX } from '../../src/report/day-request.ts';
import { EnergyPage } from '../../src/web/pages/energy-page.tsx';
import { shiftDay } from '../../src/web/words/local-days.ts';
import { renderPart } from './support/render-part.ts';

test('the page Energy shows periods as long as the server answers, and no longer ones', () => {
  const to = '2026-05-17';
  const isShown = (days: number) => {
    const from = shiftDay(to, 1 - days);
    const { lines } = renderPart(EnergyPage, { query: { from, to } }, { 'device-status': {} });
    return lines.includes(`[date: ${from}] <First day>–[date: ${to}] <Last day>`);
  };
  expect([DAYS_MAX, DAYS_MAX + 1].map(isShown)).toEqual([true, false]);
});
