// @module-tag slow
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { addDays, localDateOf } from '../../src/lib/time.ts';
import { tempDir } from '../support/temp-dir.ts';
import { openPage, served, signIn, testPage, untilComplete } from './support/open-page.ts';
import { GARAGE } from './support/serve-page.ts';

// That the tables show what the endpoints say, is tested with every number. Here their files are compared
// with them.

/** The exact numbers of each row of a table; null for a dash. The sum of a row is not in its file. */
function rowsOf(block: Locator): Promise<Array<Array<number | null>>> {
  return block.evaluate((element) => {
    const titles = [...element.querySelectorAll('thead th')].map((cell) => cell.textContent);
    return [...element.querySelectorAll('tbody tr')].map((row) =>
      [...row.children].flatMap((cell, index) => {
        if (!cell.classList.contains('number') || titles[index] === 'Sum') return [];
        const exact = cell.querySelector('data');
        return exact ? [Number(exact.value)] : cell.textContent === '–' ? [null] : [];
      }),
    );
  });
}

async function fileOf(page: Page, block: Locator): Promise<string[][]> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    block.getByRole('button', { name: 'Download CSV' }).click(),
  ]);
  const saved = join(tempDir(), 'table.csv');
  await download.saveAs(saved);
  const lines = readFileSync(saved, 'utf8').replace('\ufeff', '').split('\r\n').slice(1, -1);
  // Texts of these tables have commas in quotes only.
  return lines.map((line) => line.replaceAll(/"[^"]*"/g, 'text').split(','));
}

/** True if a row of a file has these numbers, in this order. */
function hasNumbers(cells: readonly string[], numbers: ReadonlyArray<number | null>): boolean {
  let at = 0;
  return numbers.every((number) => {
    const found = cells.findIndex(
      (cell, index) => index >= at && cell === (number === null ? '' : String(number)),
    );
    at = found + 1;
    return found >= 0;
  });
}

testPage('each table that can be downloaded has the same numbers in its file', async () => {
  const today = localDateOf(Date.now(), 'Europe/Berlin');
  const span = `from=${addDays(today, -19)}&to=${addDays(today, -14)}`;
  const watched = await openPage();
  const { page, complaints } = watched;
  for (const [view, tables, least] of [
    ['home/energy', 1, 30],
    ['home/energy?show=sources', 1, 60],
    [`home/day?day=${addDays(today, -3)}`, 1, 300],
    ['home/quality', 1, 10],
    [`past/budgets?${span}`, 2, 20],
    ['past/exports', 1, 15],
    [`shop/why?device=${GARAGE}&day=${served().yesterday}`, 1, 0],
  ] as const) {
    await signIn(page, view);
    await untilComplete(watched);
    await page.locator('main details:not([open])').evaluateAll((closed) => {
      for (const one of closed) (one as HTMLDetailsElement).open = true;
    });
    const blocks = page.locator('.table-block:has(button:text("Download CSV"))');
    await expect.poll(() => blocks.count(), { message: view }).toBe(tables);
    let numbers = 0;
    for (const block of await blocks.all()) {
      const rows = await rowsOf(block);
      const file = await fileOf(page, block);
      // A page of a table has at most 50 rows.
      expect(file.length, view).toBeGreaterThanOrEqual(rows.length);
      const wrong = rows.filter((row, index) => !hasNumbers(file[index]!, row));
      expect(wrong, view).toEqual([]);
      numbers += rows.flat().filter((number) => number !== null).length;
    }
    expect(numbers, view).toBeGreaterThanOrEqual(least);
  }
  expect(complaints).toEqual([]);
});
