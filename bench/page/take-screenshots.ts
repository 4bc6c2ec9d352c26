import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
// @ts-expect-error it is plain JavaScript, because it runs before packages are installed
import { buildPage } from '../../.ci/build-page.mjs';
import { addDays } from '../../src/lib/time.ts';
import { findBrowser } from '../../test/web/support/find-browser.ts';
import { type Showcase, startShowcase } from './showcase-service.ts';

const root = join(import.meta.dirname, '..', '..');
const target = join(root, 'docs', 'images');
const themes = ['light', 'dark'] as const;
const screens = {
  desktop: { width: 1200, height: 760 },
  phone: { width: 390, height: 780 },
} as const;

/** Each view, and something that it shows when it is complete. */
function viewsOf({
  yesterday,
  misread,
}: Showcase): ReadonlyArray<[name: string, view: string, shown: string]> {
  return [
    ['overview', 'overview', '.overview .heat'],
    ['energy', 'energy', '.column'],
    // The day before it, because the misread digit of yesterday would make all other columns small.
    ['day', `day?day=${addDays(yesterday, -1)}`, '.column'],
    ['quality', 'quality', '.heat'],
    ['why', `why?device=${misread}&day=${yesterday}`, '.reading-line'],
    ['devices', 'devices', '.day-spark'],
    ['budgets', 'budgets', 'main:has(.column) tbody tr:nth-child(2) data.amount'],
    ['exports', 'exports', '.export tbody'],
    ['pipeline', 'pipeline', '.group'],
    ['configuration', 'configuration', '#in-force + .sentence'],
  ];
}

/** Takes pictures of all views of the page, in both themes, for a desk and a phone, into docs/images. */
async function takeScreenshots(): Promise<void> {
  const browser = findBrowser();
  if (!browser) throw new Error('there is no browser; run: node .ci/prepare.mjs --browser');
  if (!buildPage(root)) throw new Error('the page cannot be built; see the output above');
  mkdirSync(target, { recursive: true });
  const folder = mkdtempSync(join(tmpdir(), 'wattline-screenshots-'));
  const show = await startShowcase(folder);
  const { libraryPath } = browser;
  const launched = await chromium.launch({
    executablePath: browser.path,
    args: ['--no-sandbox'],
    env: { ...(process.env as Record<string, string>), ...(libraryPath && { LD_LIBRARY_PATH: libraryPath }) },
  });
  try {
    for (const colorScheme of themes)
      for (const [screen, viewport] of Object.entries(screens)) {
        const context = await launched.newContext({
          baseURL: show.service.url,
          viewport,
          colorScheme,
          // The fields of dates in this browser are always American.
          locale: 'en-US',
          reducedMotion: 'reduce',
        });
        const page = await context.newPage();
        await page.goto(`/#token=${show.service.token}`);
        await page.locator('header.top').waitFor();
        for (const [name, view, shown] of viewsOf(show))
          await takeOne(page, { view, shown, file: `${name}-${screen}-${colorScheme}.png` });
        await context.close();
      }
  } finally {
    await launched.close();
    await show.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function takeOne(page: Page, one: { view: string; shown: string; file: string }): Promise<void> {
  await page.goto(`/#/demo/${one.view}`);
  await page.locator(one.shown).first().waitFor();
  await page.locator('.loading').first().waitFor({ state: 'detached' });
  await page.waitForLoadState('networkidle');
  const path = join(target, one.file);
  await page.screenshot({ path });
  process.stdout.write(`${one.file}  ${Math.round(statSync(path).size / 1_000)} kB\n`);
}

await takeScreenshots();
