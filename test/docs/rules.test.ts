import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { flagBits } from '../../src/rollup/flag-bits.ts';
import type { RuleConstant } from '../../src/rollup/rule-constant-type.ts';
import { ruleConstants, workBounds } from '../../src/rollup/rule-constants.ts';
import { loadSql } from '../../src/warehouse/load-sql.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { correctionCases } from '../correction/correction-fixture.ts';
import {
  daysOf,
  eventsOf,
  type GoldenCase,
  goldenCases,
  intervalsOf,
  ownReadings,
  rejectedOf,
  siteOf,
} from '../rollup/golden.ts';
import { landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { pages, repositoryRoot } from '../support/readme.ts';
import { sampled } from '../support/rounds.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';

const page = pages.get('docs/rules.md')!;
const cases = new Map(goldenCases().map((one) => [one.id, one]));

/**
 * The rows of the table below a heading, by the name that each begins with; the last cell says which golden
 * cases hold it.
 */
function rowsBelow(heading: string) {
  const text = page.split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!;
  return [...text.matchAll(/^\| `([a-z_]+)` \|.*$/gm)].map(([row, name]) => {
    const held = [
      ...row
        .split(' | ')
        .at(-1)!
        .matchAll(/`([^`]+)`/g),
    ].map(([, id]) => id!);
    return { name: name!, row, held };
  });
}

const constants = Object.entries<RuleConstant>(ruleConstants);
const constantRows = rowsBelow('Constants');

test('the page lists every constant of the rules as it is, in their order', () => {
  const rows = constants.map(([name, constant]) => {
    const held = constantRows.find((one) => one.name === name)?.held ?? ['a golden case that holds it'];
    return `| \`${name}\` | ${valueText(constant)} | ${constant.meaning} | ${constant.reason} | ${held.map((id) => `\`${id}\``).join(', ')} |`;
  });
  expect(constantRows.map(({ row }) => row)).toEqual(rows);
});

/** `900,000 ms (15 min)` */
function valueText({ value, unit }: RuleConstant): string {
  const text = `${value.toLocaleString('en')} ${unit}`;
  const part =
    unit === 'ms' && value < 1e11 ? lengths.find(([ms]) => value >= ms && value % ms === 0) : undefined;
  return part ? `${text} (${value / part[0]} ${part[1]})` : text;
}
const lengths = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
] as const;

test('the page lists every bound on work as it is, and what is beyond it', () => {
  const rows = rowsBelow('Bounds on work').map(({ row }) => row.split(' | '));
  expect(rows.map(([name, value]) => `${name} ${value}`)).toEqual(
    Object.entries(workBounds).map(([name, value]) => `| \`${name}\` ${value}`),
  );
  for (const cells of rows) expect(cells).toHaveLength(4);
});

test('chapter 45 and the classifier have no number without a name: each is a constant or a bound on work', () => {
  const pattern = '{classify-*,judge-*,break-*,outliers,register-rule,find-power-spikes,runs-between}.ts';
  const files = globSync(`src/rollup/${pattern}`, { cwd: repositoryRoot });
  const code = files.map((file) => readFileSync(join(repositoryRoot, file), 'utf8'));
  const sql = readFileSync(join(repositoryRoot, 'sql/rollup/45_limits.sql'), 'utf8');
  const plain = [
    sql.replaceAll(/--.*$/gm, ''),
    ...code.map((text) => text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')),
  ];
  const numbers = plain.flatMap((text) => text.match(/(?<![\w$.])\d[\d_.]*(?:e-?\d+)?/g) ?? []);
  // Places in lists, neighbours, a half for the median and for rounding.
  expect([...new Set(numbers)].sort()).toEqual(['0', '0.5', '1', '2']);
});

let wantedOutcomes: Promise<Map<string, string>> | undefined;

describe.each(sampled(constantRows, 20))('constant $name', ({ name, held }) => {
  test(`is held by ${held.join(', ')}: each comes out differently if the constant is another`, {
    tags: ['slow'],
  }, async () => {
    const unknown = held.filter((id) => !cases.has(id));
    expect(unknown, 'docs/rules.md names golden cases that do not exist').toEqual([]);
    wantedOutcomes ??= outcomesOf(sampled(constantRows, 20).flatMap((one) => one.held));
    const wanted = await wantedOutcomes;
    const constant: { value: number } = ruleConstants[name as keyof typeof ruleConstants];
    const { value } = constant;
    let same = held;
    try {
      for (const factor of [0.5, 2, 0.005]) {
        if (same.length === 0) return;
        constant.value = Number.isInteger(value) ? Math.round(value * factor) : value * factor;
        const found = await outcomesOf(same);
        same = same.filter((id) => found.get(id) === wanted.get(id));
      }
    } finally {
      constant.value = value;
    }
    expect(same, `these cases are the same whatever ${name} is`).toEqual([]);
  });
});

/** The results of all golden cases as text, by their ids. Cases of one zone share a warehouse. */
async function outcomesOf(ids: readonly string[]): Promise<Map<string, string>> {
  const chosen = [...new Set(ids)].flatMap((id) => cases.get(id) ?? []);
  const outcomes = new Map<string, string>();
  for (const group of Map.groupBy(chosen, ({ timezone }) => timezone).values()) {
    const shard = await openShardOf(group);
    const rows = [await daysOf(shard), await eventsOf(shard)];
    const [rejected, intervals] = [await rejectedOf(shard), [...(await intervalsOf(shard))]];
    await shard.close();
    for (const { id } of group) {
      const own = intervals.filter(([key]) => key.startsWith(`${id} `));
      // The order of rows has no meaning.
      const lines = [...rows.map((byCase) => byCase.get(id) ?? []), own].map((list) =>
        list.map((row) => JSON.stringify(row)).sort(),
      );
      outcomes.set(id, JSON.stringify([lines, rejected.get(id)]));
    }
  }
  return outcomes;
}

async function openShardOf(group: readonly GoldenCase[]): Promise<Shard> {
  const shard = await openTestShard();
  await landReadings(shard, group.flatMap(ownReadings));
  await rollUpSite(shard, siteOf(group));
  return shard;
}

test('the page lists every flag with its bit and its meaning, and a golden case that has it', async () => {
  const shard = await openTestShard();
  const known = await rowsOf(shard, 'SELECT flag, meaning FROM quality_flag');
  const meanings = new Map(known.map(({ flag, meaning }) => [flag, meaning]));
  const rows = rowsBelow('Flags');
  expect(rows.map(({ name }) => name)).toEqual(Object.keys(flagBits));
  for (const { name, row, held } of rows) {
    const bit = flagBits[name as keyof typeof flagBits];
    expect(row).toContain(`| ${bit} | ${meanings.get(name) ?? ''}`);
    // Flags of the bounds of intervals are on no day. A day has `estimated` instead.
    const flag = meanings.has(name) ? name : 'estimated';
    for (const id of held)
      expect([name, id, [...flagsOf(id)]]).toEqual([name, id, expect.arrayContaining([flag])]);
  }
});

function flagsOf(id: string): Set<string> {
  const corrected = correctionCases().find((one) => one.id === id);
  if (corrected) return new Set(Object.values(corrected.flags).flat());
  const { days = {}, rows = [], deviceDays = [] } = cases.get(id) ?? {};
  return new Set([...Object.values(days), ...rows, ...deviceDays].flatMap(({ flags }) => flags ?? []));
}

test('the page tells the rules in the order of the chapters, and every reason to reject a reading', () => {
  const chapters = globSync('*.sql', { cwd: join(repositoryRoot, 'sql/rollup') })
    .sort()
    .map((file) => readFileSync(join(repositoryRoot, 'sql/rollup', file), 'utf8'))
    .map((text) => /^-- (\d\d [^:]+):/.exec(text)![1]!)
    .filter((name) => !name.startsWith('0'));
  expect([...page.matchAll(/^### (\d\d [^:]+):/gm)].map(([, name]) => name)).toEqual(chapters);
  expect(page).toContain('\n### What a break is\n');

  const checked = loadSql('rollup/extract_readings').split('checked AS')[1]!;
  const reasons = [...checked.matchAll(/THEN '([a-z_]+)'/g)].map(([, reason]) => reason!);
  const table = page.split('### 10 Extract')[1]!.split('###')[0]!;
  const listed = [...table.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell]) =>
    [...cell!.matchAll(/`([a-z_]+)`/g)].map(([, reason]) => reason!),
  );
  expect(listed).toEqual([...new Set(reasons)]);
});

test('what the page names in its rules exists', () => {
  const rules = page.split('\n## The rules by chapter\n')[1]!;
  const named = [...rules.matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)].map(([, name]) => name!);
  const known = new Set<string>([...Object.keys(ruleConstants), ...Object.keys(flagBits)]);
  const sql = globSync('*.sql', { cwd: join(repositoryRoot, 'sql/rollup') })
    .map((file) => readFileSync(join(repositoryRoot, 'sql/rollup', file), 'utf8'))
    .join('\n');
  expect(named.filter((name) => !known.has(name) && !sql.includes(name))).toEqual([]);
});
