import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { serviceLimits } from '../../src/contract/service-limits.ts';
import { pages } from '../support/readme.ts';
import { findConstants, findLimits } from './find-limits.ts';
import { internalLimits } from './internal-limits.ts';

const constants = findConstants();
const page = pages.get('docs/limits.md')!;
const rows = [...page.matchAll(/^\| (.+) \| (.+) \| (.+) \| (.*) \| (.+) \|$/gm)]
  .map(([, what, limit, setting, , source]) => ({
    what: what!,
    limit: limit!,
    setting: setting!,
    keys: [...source!.matchAll(/`([^`]+\.ts \w+)`/g)].map(([, key]) => key!),
  }))
  .filter(({ what }) => what !== 'what' && !what.startsWith('--'));

const factors: ReadonlyArray<readonly [RegExp, number]> = [
  [/^ms\b/, 1],
  [/^s\b/, 1_000],
  [/^min\b/, 60_000],
  [/^h\b/, 3_600_000],
  [/^days?\b/, 86_400_000],
  [/^KiB\b/, 1024],
  [/^MiB\b/, 1024 ** 2],
  [/^GiB\b/, 1024 ** 3],
];

/** The numbers of a text. A number with a unit is one of several: `512 MiB` is 512 and 536,870,912. */
function numbersOf(text: string): number[][] {
  return [...text.matchAll(/(\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)\s*(\w*)/g)].map(([, digits, unit]) => {
    const number = Number(digits!.replaceAll(',', ''));
    const factor = factors.find(([pattern]) => pattern.test(unit!))?.[1];
    return factor === undefined ? [number] : [number, number * factor];
  });
}

test.each(rows)('$what: $limit', ({ what, limit, keys }) => {
  const text = `${limit} ${/\((`.*)\)/.exec(what)?.[1] ?? ''}`;
  const values = keys.flatMap((key) => {
    expect(constants.get(key), key).toBeDefined();
    return constants.get(key)!;
  });
  const shown = numbersOf(limit);
  if (keys.length === 0) {
    expect(shown).toEqual(withoutConstant[what] ?? []);
    return;
  }
  for (const key of keys)
    expect(
      numbersOf(text).some((number) => number.some((value) => constants.get(key)!.includes(value))),
      `${limit} does not show ${key} = ${constants.get(key)}`,
    ).toBe(true);
  for (const number of shown.filter(([first]) => !periods.includes(first!) || shown.length === 1))
    expect(
      number.some((value) => values.includes(value)),
      `${number[0]} is none of ${values}`,
    ).toBe(true);
});

/** The numbers of limits that have no constant, as `numbersOf` reads them, by what they limit. */
const withoutConstant: Readonly<Record<string, number[][]>> = {
  '`Host` headers of a request': [[1]],
  'memory of DuckDB for one warehouse': numbersOf(
    `${configSchema.parse({}).pipeline.warehouseMemoryMegabytes} MiB`,
  ),
  'the queue does not call a stage': [[15, 15_000], [5]],
  "the queue's store does not answer": [[30, 30_000]],
};

/** Counts of periods and failures next to a time. */
const periods = [2, 5, 10];

test('every constant that bounds something is on the page, or known to be internal', () => {
  const onPage = new Set(rows.flatMap(({ keys }) => keys));
  const internal = new Set(
    Object.values(internalLimits)
      .flat()
      .flatMap((line) => {
        const [file, ...names] = line.split(' ');
        return names.map((name) => `${file} ${name}`);
      }),
  );
  const limits = findLimits();
  expect(
    limits.filter((key) => !onPage.has(key) && !internal.has(key)),
    'add a row to docs/limits.md, or a reason to internal-limits.ts',
  ).toEqual([]);
  expect([...internal].filter((key) => onPage.has(key) || !limits.includes(key))).toEqual([]);
});

test('every setting of limits is on the page', () => {
  const onPage = new Set(
    rows.flatMap(({ setting }) => [...setting.matchAll(/`limits\.(\w+)`/g)].map(([, name]) => name!)),
  );
  const { limits } = configSchema.parse({});
  expect([...onPage].sort()).toEqual(Object.keys(limits).sort());
  expect(Object.values(limits).sort()).toEqual(Object.values(serviceLimits).sort());
});

test('every answer beyond a limit leads to the sections whose tables name it', () => {
  const named = new Map<string, string[]>();
  for (const section of page.split(/^## /m).slice(1)) {
    const [title] = section.split('\n');
    for (const [, beyond] of section.matchAll(/^\| .+ \| .+ \| .+ \| (.*) \| .+ \|$/gm))
      for (const [answer] of beyond!.matchAll(/\b[45]\d\d\b|`[A-Z]\w+`/g))
        named.set(answer, [...(named.get(answer) ?? []), title!]);
  }
  // These are classes of errors; the code beside them is the answer.
  for (const kind of ['TerminalError', 'TransientError']) named.delete(`\`${kind}\``);
  const told = [...page.matchAll(/^\| (\d{3}|`\w+`) \| (\[.+\)) \|$/gm)].map(
    ([, answer, links]) => [answer, [...links!.matchAll(/\[(.+?)\]/g)].map(([, title]) => title)] as const,
  );
  expect(told).toEqual([...named].map(([answer, titles]) => [answer, [...new Set(titles)]]).sort(byAnswer));
});

function byAnswer([one]: unknown[], [other]: unknown[]): number {
  const plain = (answer: unknown) => String(answer).replaceAll('`', '');
  return plain(one) < plain(other) ? -1 : 1;
}
