import { expect, test } from 'vitest';
import { listDays } from '../../src/web/words/local-days.ts';
import { periodName } from '../../src/web/words/time-words.ts';
import { shift } from './support/page-facts.ts';
import { period } from './support/plain-words.ts';

/** The name of a whole month or year, which is the same in every kind of English. */
const nameOfWhole = (text: string) => /^(?:\p{L}+ )?\d{4}$/u.exec(text)?.[0];

// The tests of the pages run on any day, also on one on which the last 30 days are a whole month.
test.skipIf(!Intl.NumberFormat().resolvedOptions().locale.startsWith('en'))(
  'the pages and their tests name whole months and years alike, for each day of two years',
  () => {
    const whole = new Set<string>();
    for (const to of listDays('2027-01-01', '2028-12-31'))
      for (const count of [28, 29, 30, 31, 365, 366]) {
        const from = shift(to, 1 - count);
        const name = nameOfWhole(period(from, to));
        expect([from, to, name]).toEqual([from, to, nameOfWhole(periodName({ from, to }))]);
        if (name) whole.add(name);
      }
    expect(whole.size, '24 months and 2 years').toBe(26);
  },
);
