// @module-tag slow
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import axe, { type AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { openPage, served, signIn, testPage } from './support/open-page.ts';
import { GARAGE } from './support/serve-page.ts';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Each view, and something that it shows when it is complete. */
function views(): ReadonlyArray<[view: string, shown: string]> {
  const { yesterday } = served();
  return [
    ['home/overview', '.overview .heat'],
    ['empty/overview', '.empty'],
    [`home/energy?from=${yesterday}&to=${yesterday}&compare=before`, '.column'],
    ['home/energy?show=production', '.column'],
    ['home/energy?show=devices', '.column'],
    [`home/day?day=${yesterday}&with=${yesterday}`, '.column'],
    ['home/day?day=2020-01-01', '.empty'],
    ['home/quality', '.heat'],
    ['home/devices', '.day-spark'],
    [`shop/devices?device=${GARAGE}`, '.device-card .column'],
    [`shop/budgets?from=${yesterday}&to=${yesterday}`, '.column'],
    ['empty/budgets', '.empty'],
    ['shop/exports', '.export'],
    ['shop/pipeline', '.chain'],
    ['torn/pipeline', '.gap-line'],
    ['shop/configuration', '#in-force'],
    [`shop/why?device=${GARAGE}&day=${yesterday}`, '.reading-line'],
    [`shop/why?device=${GARAGE}&day=2020-01-01`, '.empty'],
  ];
}

/** Rules of colours, whose result depends on the theme. */
const colourTags = ['cat.color'];

/** All rules, also those that are off by default, except for deprecated ones and those of level AAA. */
const allRules = axe
  .getRules()
  .filter(({ tags }) => !tags.includes('deprecated') && !tags.includes('wcag2aaa'));
const rules = {
  light: allRules,
  dark: allRules.filter(({ tags }) => colourTags.some((tag) => tags.includes(tag))),
};

async function violationsInBothThemes(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme });
    found.push(...(await violationsOf(page, theme)));
  }
  return found;
}

async function violationsOf(page: Page, theme: keyof typeof rules): Promise<string[]> {
  // The script stays while only the part of the address behind # changes.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axeSource);
  const options = {
    runOnly: { type: 'rule', values: rules[theme].map(({ ruleId }) => ruleId) },
    resultTypes: ['violations'],
    preload: false,
  };
  const results = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as AxeResults;
  return results.violations.map(
    ({ id, nodes }) => `${theme}, ${id}: ${nodes.map(({ html }) => html).join(' ')}`,
  );
}

/** The labels of choices that show nothing. */
function withoutChoice(selects: Array<Element>): string[] {
  return (selects as HTMLSelectElement[])
    .filter(({ selectedIndex }) => selectedIndex < 0)
    .map(({ labels }) => labels[0]?.textContent ?? 'without a label');
}

/** What is wider than the screen. */
const tooWide = `[
  ...(document.documentElement.scrollWidth > innerWidth ? ['the page'] : []),
  ...[...document.querySelectorAll('.table-block, .table-scroll')]
    .filter((table) => table.scrollWidth > table.clientWidth)
    .map((table) => 'a table: ' + table.textContent.slice(0, 50)),
]`;

const desk = { width: 1280, height: 900 };
const phone = { width: 360, height: 800 };

testPage(
  'every page is accessible in both themes, fits on a phone, keeps the policy, and asks no other host',
  { timeout: 240_000 },
  async () => {
    const { page, complaints } = await openPage({ viewport: desk });
    await page.goto('/');
    await page.getByLabel('API token').waitFor();
    const found: Record<string, string[]> = { 'sign-in': await violationsInBothThemes(page) };
    await signIn(page, 'home/overview');
    for (const [view, shown] of views()) {
      await page.goto(`/#/${view}`);
      await page.locator(shown).first().waitFor();
      await page.evaluate(() => {
        for (const closed of document.querySelectorAll('details')) closed.open = true;
      });
      found[view] = await violationsInBothThemes(page);
      const blank = page.locator('select').evaluateAll(withoutChoice);
      expect(await blank, `${view} has a choice without its value`).toEqual([]);
      await page.setViewportSize(phone);
      // The pictures are drawn again in their new width.
      await expect.poll(() => page.evaluate(tooWide), { message: `${view} on a phone` }).toEqual([]);
      await page.setViewportSize(desk);
    }
    await page.context().setOffline(true);
    await page.goto('/#/mended/exports');
    await page.getByRole('alert').first().waitFor();
    found['a service that cannot be reached'] = await violationsInBothThemes(page);
    const broken = Object.entries(found).filter(([, violations]) => violations.length > 0);
    expect(Object.fromEntries(broken)).toEqual({});
    expect(complaints).toEqual([]);
  },
);
