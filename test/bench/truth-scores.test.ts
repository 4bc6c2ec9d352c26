import { describe, expect, test } from 'vitest';
import { type Category, categorize, isAcceptable, saysDoubt } from '../../bench/truth/category.ts';
import { isolate } from '../../bench/truth/isolate.ts';
import type { TrueDay } from '../../bench/truth/knowledge.ts';
import { benchTruth } from '../../bench/truth.ts';
import { isSoak, rounds } from '../support/rounds.ts';

const HOUR_MS = 3_600_000;
const INSTALLED_W = 5_000;

/** A day of 20 kWh, of 120 kWh at most. */
function dayOf(more: Partial<TrueDay> = {}): TrueDay {
  return {
    day: '2025-06-11',
    startMs: 0,
    endMs: 24 * HOUR_MS,
    lowWh: 20_000,
    highWh: 20_000,
    allowanceWh: 0,
    isKnowable: true,
    isSeen: true,
    ...more,
  };
}

const categoryOf = (energyWh: number, flags: string[] = [], more: Partial<TrueDay> = {}) =>
  categorize(dayOf(more), INSTALLED_W, { energyWh, flags, method: 'total_energy' });

describe('an answer', () => {
  test.each<[number, string[], Category]>([
    [20_000, [], 'exact'],
    [20_200, [], 'exact'],
    [19_799, [], 'near'],
    [21_000, [], 'near'],
    [21_001, [], 'silent'],
    [21_001, ['reset'], 'flagged'],
    [21_001, ['jitter', 'rollover', 'carry_over'], 'silent'],
    [0, ['partial'], 'flagged'],
    [60_000, [], 'silent'],
    [60_001, ['contradicted'], 'absurd'],
    [-1_001, ['estimated'], 'absurd'],
    [-1_000, [], 'silent'],
  ])('of %d Wh with the flags %j for 20,000 Wh is %s', (energyWh, flags, category) => {
    expect(categoryOf(energyWh, flags)).toBe(category);
  });

  test('of little energy is exact within 50 Wh, near within 200 Wh, and absurd only from a kWh on', () => {
    const little = { lowWh: 100, highWh: 100 };
    expect([150, 151, 300, 301, 1_100, 1_101].map((wh) => categoryOf(wh, [], little))).toEqual([
      'exact',
      'near',
      'near',
      'silent',
      'silent',
      'absurd',
    ]);
  });

  test('anywhere between the bounds of the truth is exact, and so is what the steps of the register leave open', () => {
    const more = { lowWh: 5_000, highWh: 20_000, allowanceWh: 1_000 };
    expect([3_800, 5_000, 12_000, 21_200, 21_201].map((wh) => categoryOf(wh, [], more))).toEqual([
      'exact',
      'exact',
      'exact',
      'exact',
      'near',
    ]);
  });

  test('is absurd beyond what the device can give in the day, be it known or not', () => {
    const [known, unknown] = [{ highWh: 110_000 }, { isKnowable: false, highWh: 1_000, lowWh: 1_000 }];
    expect(categoryOf(119_000, [], known)).toBe('silent');
    expect(categoryOf(120_001, [], known)).toBe('absurd');
    expect(categoryOf(119_000, ['estimated'], unknown)).toBe('flagged');
    expect(categoryOf(120_001, ['estimated'], unknown)).toBe('absurd');
  });

  test('that is not there is missing where there is energy', () => {
    expect(categorize(dayOf(), INSTALLED_W, undefined)).toBe('missing');
    expect(categorize(dayOf({ lowWh: 50 }), INSTALLED_W, undefined)).toBe('exact');
    expect(categorize(dayOf({ lowWh: 51 }), INSTALLED_W, undefined)).toBe('missing');
  });

  test('is good where it is right, or says doubt or nothing of a day that nobody can know', () => {
    const goodFor = (more: Partial<TrueDay>) =>
      (['exact', 'near', 'flagged', 'silent', 'absurd', 'missing', 'thrown'] as const).filter((category) =>
        isAcceptable(category, dayOf(more)),
      );
    expect(goodFor({})).toEqual(['exact', 'near']);
    expect(goodFor({ isKnowable: false })).toEqual(['exact', 'near', 'flagged', 'missing']);
    expect(goodFor({ isKnowable: false, isSeen: false })).toEqual([
      'exact',
      'near',
      'flagged',
      'silent',
      'missing',
    ]);
  });

  test('says doubt by every flag but those that only say how it was found', () => {
    expect(['rebase', 'substituted', 'a flag of later'].every((flag) => saysDoubt([flag, 'jitter']))).toBe(
      true,
    );
    expect(saysDoubt(['jitter', 'carry_over', 'rollover'])).toBe(false);
    expect(saysDoubt([])).toBe(false);
  });
});

test('items that throw are found by halving, and the others have their results', async () => {
  const calls: number[] = [];
  const done = await isolate([1, 2, 3, 4, 5, 6, 7], async (items) => {
    calls.push(items.length);
    if (items.includes(3) || items.includes(6)) throw new Error(`cannot do ${items}`);
    return items.map((item) => item * 10);
  });
  expect(done.map((one) => (one.kind === 'done' ? one.result : String(one.error)))).toEqual([
    10,
    20,
    'Error: cannot do 3',
    40,
    50,
    'Error: cannot do 6',
    70,
  ]);
  expect(Math.max(...calls.slice(1))).toBeLessThan(7);
});

describe('npm run bench -- truth', () => {
  const run = async (...args: string[]) => {
    const lines: string[] = [];
    const ratios = await benchTruth((line) => lines.push(line), args);
    return { text: lines.join('\n').replace(/ \d+ s$/m, ''), ratios };
  };

  // npm run bench -- truth prints it. The tests above test how a day is judged.
  test.runIf(isSoak)('prints a table by fault and by configuration, and the same ones again', async () => {
    const args = ['--fault', 'rollover', '--count', String(rounds(10, 60)), '--worst', '3'];
    const { text, ratios } = await run(...args);
    expect(text).toMatch(/^rollover +\d+ +\d+ +\d+/m);
    expect(text).toMatch(/^Configuration +Rec +Days +Exact +Near +Flagged +Silent +Absurd +Missing +Thrown/m);
    expect(ratios).toHaveLength(2);
    // The rules know what a rollover is, so few days of these recordings are wrong.
    expect(ratios[0]!.ratio).toBeGreaterThan(0.9);
    expect((await run(...args)).text).toBe(text);
  });

  // rollup-properties.test.ts compares parts with the whole.
  test.runIf(isSoak)('rolls up day by day where that is asked for, and has the same days', async () => {
    const args = ['--fault', 'rollover', '--count', String(rounds(20, 30))];
    const daysOf = ({ text }: { text: string }) => /^total +(\d+) +(\d+)/m.exec(text)!.slice(1);
    const days = daysOf(await run(...args, '--by-day'));
    expect(Number(days[1])).toBeGreaterThan(6);
    expect(daysOf(await run(...args))).toEqual(days);
  });

  test.each([
    [['--fault', 'rust'], /rust: is not one of clean; /],
    [['--seed', '-1'], /seed/],
    [['--worst', 'all'], /--worst has a problem:\n {2}all: must be a whole number/],
    [['--no-such'], /--no-such/],
  ])('%j is refused in words', { tags: ['slow'] }, async (args, message) => {
    await expect(run('--count', '1', ...args)).rejects.toThrow(message);
  });
});
