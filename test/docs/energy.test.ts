// @module-tag slow
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { blocksOf, pages } from '../support/readme.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';

const page = 'docs/energy.md';
const example = pages.get(page)!.split('\n## A worked example\n')[1]!.split('\n## ')[0]!;

/** `26,200` */
const numberOf = (text: string) => Number(text.replaceAll(',', ''));

test('the worked example comes out as its table, its arithmetic and its text say', async () => {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'example.json'), blocksOf(page, 'json')[0]!);
  const { code, stdout } = await runCommand(['replay', 'example.json', '--json'], { cwd });
  expect(code).toBe(0);
  const { days, flags } = JSON.parse(stdout).roof as {
    days: Record<string, Record<string, number>>;
    flags: Record<string, Record<string, string[]>>;
  };

  const rows = [...example.matchAll(/^\| (\d{4}-\d\d-\d\d) \|.*\| ([\d.() /-]+) \| ([\d,]+) \|$/gm)];
  expect(rows).toHaveLength(7);
  const sums: Record<string, number> = {};
  for (const [, day, arithmetic, wh] of rows) {
    expect([arithmetic, kwhOf(arithmetic!)]).toEqual([arithmetic, expect.closeTo(numberOf(wh!) / 1000, 6)]);
    sums[day!] = (sums[day!] ?? 0) + numberOf(wh!);
  }
  const energy = Object.fromEntries(
    Object.entries(days).map(([day, devices]) => [day, Object.values(devices)[0]]),
  );
  expect(sums).toEqual(energy);

  const said = [...example.matchAll(/(\d{4}-\d\d-\d\d) has ([\d,]+) Wh([^.]*)\./g)];
  expect(said).toHaveLength(2);
  for (const [, day, wh, words] of said) {
    expect([day, numberOf(wh!)]).toEqual([day, energy[day!]]);
    const named = [...words!.matchAll(/`([a-z]+)`/g)].map(([, name]) => name!);
    expect([day, named.toSorted()]).toEqual([day, Object.values(flags[day!]!)[0]!.toSorted()]);
  }
});

/** `1506.0 - 1500.0`, `4.0` or `(6.4 - 6.0) / 2` */
function kwhOf(arithmetic: string): number {
  const [, from = '', less = '0', parts = '1'] = /^\(?([\d.]+)(?: - ([\d.]+))?\)?(?: \/ (\d+))?$/.exec(
    arithmetic,
  )!;
  return (Number(from) - Number(less)) / Number(parts);
}
