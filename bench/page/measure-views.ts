import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
// @ts-expect-error it is plain JavaScript, because it runs before packages are installed
import { buildPage } from '../../.ci/build-page.mjs';
import { until } from '../../test/support/until.ts';
import { createUpProcess, type ServiceProcess } from '../../test/support/up-process.ts';
import { findBrowser } from '../../test/web/support/find-browser.ts';
import type { Ratio } from '../decode.ts';
import { DEVICES, fillLake, median, WORKGROUP } from '../report.ts';

const ROUNDS = 3;
const QUICK_MS = 100;
const QUICK_ANSWERS = 50;
const QUIET_WITHIN_MS = 120_000;
const LIMIT_MS = 1_000;
const ANSWER_BYTES_MAX = 1_000_000;
const views = [
  { name: 'overview', view: 'overview', shown: '.tile' },
  { name: 'devices', view: 'devices', shown: '.day-spark' },
  { name: 'quality of a page of devices', view: 'quality', shown: '.heat path' },
  { name: 'energy of a year', view: 'energy?from=2026-01-01&to=2026-12-31', shown: '.column, .empty' },
] as const;

interface Measured {
  /** Until the first picture stands, ms. */
  ms: number;
  largest: { bytes: number; url: string };
}

/** Opens views of the page over a year of 1,000 devices with 3 sources each: the time to the first picture, and the largest answer. */
export async function benchPage(print: (line: string) => void): Promise<Ratio[]> {
  const browser = findBrowser();
  if (!browser) {
    print('page: there is no browser; run: node .ci/prepare.mjs --browser');
    return [];
  }
  if (!buildPage(join(import.meta.dirname, '..', '..'))) throw new Error('the page cannot be built');
  const folder = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
  const dataDir = join(folder, 'data');
  const service = await createUpProcess(folder, {
    dataDir: './data',
    pipeline: { currentEvery: '10m' },
    workgroups: [{ id: WORKGROUP, devices: devicesOfLake() }],
  });
  const { libraryPath } = browser;
  const launched = await chromium.launch({
    executablePath: browser.path,
    args: ['--no-sandbox'],
    env: { ...(process.env as Record<string, string>), ...(libraryPath && { LD_LIBRARY_PATH: libraryPath }) },
  });
  try {
    await fillLake(dataDir, join(dataDir, 'lake'), print);
    await service.start();
    await untilQuiet(service);
    const results: Ratio[] = [];
    for (const { name, view, shown } of views) {
      const rounds: Measured[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const context = await launched.newContext({ baseURL: service.url });
        const page = await context.newPage();
        rounds.push(await openView(page, `/#token=${service.token}`, `/#/${WORKGROUP}/${view}`, shown));
        await context.close();
      }
      const ms = median(rounds.map((one) => one.ms));
      const { bytes, url } = rounds[0]!.largest;
      print(
        `page, ${name}: first picture after ${ms.toFixed(0)} ms; largest answer ${(bytes / 1e6).toFixed(2)} MB (${url})`,
      );
      results.push(
        { name: `page, ${name}: time to the first picture`, ratio: LIMIT_MS / ms, ratioMin: 1 },
        { name: `page, ${name}: size of answers`, ratio: ANSWER_BYTES_MAX / bytes, ratioMin: 1 },
      );
    }
    return results;
  } finally {
    await launched.close();
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The worker looks through a new lake at first. */
async function untilQuiet({ url, token }: ServiceProcess): Promise<void> {
  let quick = 0;
  await until(
    'the service is quiet',
    async () => {
      const startedMs = performance.now();
      const answer = await fetch(`${url}/api/v1/orgs/${WORKGROUP}/device-status`, {
        headers: { Authorization: `Bearer ${token}` },
      });
      await answer.arrayBuffer();
      quick = performance.now() - startedMs < QUICK_MS ? quick + 1 : 0;
      return quick >= QUICK_ANSWERS;
    },
    QUIET_WITHIN_MS,
  );
}

/** The devices that `fillLake` makes. */
function devicesOfLake(): Array<{ id: string; name: string }> {
  return Array.from({ length: DEVICES }, (_, index) => {
    const hex = createHash('md5').update(String(index)).digest('hex');
    const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
    return { id, name: `device ${index + 1}` };
  });
}

/** Opens a view as a person who is signed in does: the scripts are not in the cache. */
async function openView(page: Page, signIn: string, view: string, shown: string): Promise<Measured> {
  await page.goto(signIn);
  await page.locator('header.top').waitFor();
  await page.goto('about:blank');
  let largest = { bytes: 1, url: '' };
  const sizes: Array<Promise<void>> = [];
  page.on('response', (response) => {
    sizes.push(
      response.body().then(
        ({ length }) => {
          if (length > largest.bytes) largest = { bytes: length, url: new URL(response.url()).pathname };
        },
        () => undefined,
      ),
    );
  });
  const startedMs = performance.now();
  await page.goto(view);
  await page.locator(shown).first().waitFor();
  const ms = performance.now() - startedMs;
  await page.waitForLoadState('networkidle');
  await Promise.all(sizes);
  return { ms, largest };
}
