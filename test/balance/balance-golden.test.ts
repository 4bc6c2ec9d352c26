import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readBalanceCase } from '../../src/cli/replay/balance-case.ts';
import { balanceParts, runBalanceCase } from '../../src/cli/replay/run-balance-case.ts';
import { openConnection } from './balance-fixture.ts';

interface GoldenBalance {
  id: string;
  /** The arithmetic. */
  why: string;
  expected: Record<string, unknown>;
}

const folder = join(import.meta.dirname, '..', 'golden', 'balance');
const files = readdirSync(folder).map((name) => ({
  name,
  cases: JSON.parse(readFileSync(join(folder, name), 'utf8')) as GoldenBalance[],
}));

/** The differences from the values that a case gives. */
function differences(path: string, wanted: unknown, found: unknown): string[] {
  if (typeof wanted === 'object' && wanted !== null && !Array.isArray(wanted)) {
    // In `restWh`, a name that the case does not list is a difference.
    const extra =
      /\.restWh$/.test(path) && typeof found === 'object' && found !== null
        ? Object.keys(found).filter((key) => !(key in wanted))
        : [];
    return [
      ...extra.map((key) => `${path}.${key} is there`),
      ...Object.entries(wanted).flatMap(([key, value]) =>
        differences(`${path}.${key}`, value, (found as Record<string, unknown> | undefined)?.[key]),
      ),
    ];
  }
  const [want, got] = [wanted, found].map((value) => JSON.stringify(value));
  return want === got ? [] : [`${path}: ${want}, not ${got}`];
}

test.each(files)(
  'the cases of $name come out as their arithmetic says',
  { tags: ['slow'] },
  async ({ name, cases }) => {
    const connection = await openConnection();
    const problems: string[] = [];
    for (const [index, golden] of cases.entries()) {
      const wanted = balanceParts.filter((part) => part in golden.expected);
      const told = await runBalanceCase(connection, readBalanceCase(name, golden, index), wanted);
      if (typeof golden.expected.error === 'string') {
        expect.soft('error' in told && told.error, golden.id).toContain(golden.expected.error);
        continue;
      }
      problems.push(...differences(golden.id, golden.expected, told));
    }
    expect(problems).toEqual([]);
  },
);

test('there are cases of every kind, each with its arithmetic and a unique id', () => {
  const cases = files.flatMap((file) => file.cases);
  expect(cases.length).toBeGreaterThanOrEqual(60);
  expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length);
  expect(cases.filter(({ why }) => why.length < 10)).toEqual([]);
});
