import { expect, test } from 'vitest';
import { correctionLimits, stretchProblem } from '../../src/correction/correction-request.ts';
import { DAY_MS, MINUTE_MS } from '../../src/lib/time.ts';

const NOW_MS = Date.UTC(2026, 10, 20, 12);
const { setMs, excludeMs, aheadMs } = correctionLimits;

test.each([
  // [kind, from now on, to, the named end, or null if there is no problem]
  ['set', -setMs, 0, null],
  ['set', -setMs - 15 * MINUTE_MS, 0, 'to: at most 31 days'],
  ['set', -DAY_MS, -DAY_MS, 'to: must be after from'],
  ['set', 0, 15 * MINUTE_MS, 'to: is not over yet'],
  ['set', -DAY_MS + MINUTE_MS, 0, 'from: must be on a quarter of an hour'],
  ['set', -DAY_MS, -MINUTE_MS, 'to: must be on a quarter of an hour'],
  ['fill', -DAY_MS, -MINUTE_MS, 'to: must be on a quarter of an hour'],
  ['set_day', -DAY_MS, 15 * MINUTE_MS, 'day: is not over yet'],
  ['exclude', -excludeMs, 0, null],
  ['exclude', -excludeMs - 1, 0, 'to: at most 366 days'],
  ['exclude', 1, aheadMs, null],
  ['exclude', 1, aheadMs + 1, 'to: must not be more than 31 days ahead'],
] as const)('%s from %i ms to %i ms after now: %s', (kind, from, to, says) => {
  const found = stretchProblem({ fromMs: NOW_MS + from, toMs: NOW_MS + to }, kind, NOW_MS);
  expect(found ? `${found.path}: ${found.message}` : '').toContain(says ?? '');
  expect(found === undefined).toBe(says === null);
});
