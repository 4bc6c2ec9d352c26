import { expect, test } from 'vitest';
import type { AlertFinding } from '../../src/alerts/alert-condition-type.ts';
import { createLastingFindings } from '../../src/alerts/lasting-findings.ts';
import { MINUTE_MS } from '../../src/lib/time.ts';
import { createTestClock } from '../support/test-clock.ts';

test('a finding lasts from the first clear look on, also over unclear looks and looks that do not judge it', () => {
  const clock = createTestClock();
  const lasting = createLastingFindings(clock);
  const clear: AlertFinding = { subject: 'meter', text: 'meter is silent' };
  const unclear: AlertFinding = { ...clear, isUnclear: true };
  /** Looks, and tells if the finding lasts for these minutes. */
  const lastsAfter = (found: AlertFinding[] | 'not judged', ...minutes: number[]) => {
    lasting.note(
      new Map<'deviceSilent', AlertFinding[]>(found === 'not judged' ? [] : [['deviceSilent', found]]),
    );
    clock.leap(MINUTE_MS);
    return minutes.map((count) => lasting.hasLasted('deviceSilent', 'meter', count * MINUTE_MS));
  };
  expect(lastsAfter([unclear], 0)).toEqual([false]);
  expect(lastsAfter([clear], 1, 2)).toEqual([true, false]);
  expect(lastsAfter([unclear], 2, 3)).toEqual([true, false]);
  expect(lastsAfter('not judged', 3, 4)).toEqual([true, false]);
  expect(lastsAfter([], 0)).toEqual([false]);
});
