import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { type Browser, chromium, type Page } from 'playwright-core';
// @ts-expect-error it is plain JavaScript, because it runs before packages are installed
import { buildPage } from '../../.ci/build-page.mjs';
import { addDays, localDateOf } from '../../src/lib/time.ts';
import { fillDays, filledDevices } from '../../test/support/fill-days.ts';
import { until } from '../../test/support/until.ts';
import { createUpProcess, type ServiceProcess } from '../../test/support/up-process.ts';
import { findBrowser } from '../../test/web/support/find-browser.ts';
import type { Ratio } from '../decode.ts';
import { cpuSeconds, loadOfMachine } from '../process-costs.ts';
import { DEVICES, fillLake, PROFILE_DAY, WORKGROUP } from '../report.ts';
import { median } from '../statistics.ts';

const ROUNDS = 3;
const QUICK_MS = 100;
const QUICK_ANSWERS = 50;
const QUIET_WITHIN_MS = 120_000;
const PICTURE_MS_MAX = 1_000;
const HEAT_MAP_MS_MAX = 200;
const ANSWER_BYTES_MAX = 1_000_000;
const ASSETS_BYTES_MAX = 100_000;
const BROWSERS = 10;
const BROWSERS_CORE_MAX = 0.05;
const WATCHED_MS = 60_000;
const SENT_EVERY_MS = 10_000;
const PLANTS = { workgroupId: 'plants', devices: 400, sources: ['pv'], firstDay: '2025-01-01', days: 365 };
/** A workgroup that receives readings. */
const LIVE = { workgroupId: 'live', devices: 20, sources: ['pv'], days: 40 };
const root = join(import.meta.dirname, '..', '..');
const year = 'from=2026-01-01&to=2026-12-31';
const views = [
  { name: 'overview', view: 'overview', shown: '.tile' },
  { name: 'devices', view: 'devices', shown: '.day-spark' },
  { name: 'quality of a year of a page of devices', view: `quality?${year}`, shown: '.heat path' },
  {
    name: 'quality of a quarter of sources',
    view: `quality?by=source&from=2026-01-01&to=2026-03-31`,
    shown: '.heat path',
  },
  { name: 'day', view: `day?day=${PROFILE_DAY}&with=2026-06-20`, shown: '.column' },
  { name: 'energy of a year', view: `energy?${year}`, shown: '.column, .empty' },
] as const;

interface Measured {
  /** The time until the first picture is drawn, ms. */
  ms: number;
  largest: { bytes: number; url: string };
}

/**
 * The page over a year of 1,000 devices with 3 sources each: the time to the first picture of each view, and
 * the largest answer. Also the time in which the heat map of a year of 400 devices is drawn, the size of the
 * scripts, and what ten open browsers cost the service.
 */
export async function benchPage(print: (line: string) => void): Promise<Ratio[]> {
  const browser = findBrowser();
  if (!browser) {
    print('page: there is no browser; run: node .ci/prepare.mjs --browser');
    return [];
  }
  if (!buildPage(root)) throw new Error('the page cannot be built');
  const folder = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
  const dataDir = join(folder, 'data');
  const service = await createUpProcess(folder, {
    dataDir: './data',
    pipeline: { currentEvery: '10m' },
    workgroups: [
      { id: WORKGROUP, devices: filledDevices(DEVICES) },
      { id: PLANTS.workgroupId, devices: filledDevices(PLANTS.devices) },
      {
        id: LIVE.workgroupId,
        devices: filledDevices(LIVE.devices),
        energyStreams: [{ table: 'solar', field: 'total_wh', method: 'total_energy', unit: 'Wh' }],
      },
    ],
  });
  const { libraryPath } = browser;
  const launched = await chromium.launch({
    executablePath: browser.path,
    args: ['--no-sandbox'],
    env: { ...(process.env as Record<string, string>), ...(libraryPath && { LD_LIBRARY_PATH: libraryPath }) },
  });
  try {
    await fillLake(dataDir, print);
    await fillDays(dataDir, { ...PLANTS, quality: 'mixed' });
    const firstDay = addDays(localDateOf(Date.now(), 'UTC'), -LIVE.days);
    await fillDays(dataDir, { ...LIVE, firstDay });
    await service.start();
    await untilQuiet(service);
    print(`page: load of the machine ${loadOfMachine()}`);
    return [
      sizeOfAssets(print),
      ...(await measureViews(launched, service, print)),
      await measureHeatMap(launched, service, print),
      await measureBrowsers(launched, service, print),
    ];
  } finally {
    await launched.close();
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function sizeOfAssets(print: (line: string) => void): Ratio {
  const folder = join(root, 'dist-web');
  const files = globSync('assets/*.{js,css}', { cwd: folder });
  if (files.length === 0) throw new Error(`there is no built page in ${folder}`);
  const bytes = files.reduce((sum, file) => sum + gzipSync(readFileSync(join(folder, file))).length, 0);
  print(`page: scripts and styles ${(bytes / 1e3).toFixed(1)} kB, packed with gzip`);
  return { name: 'page, size of scripts and styles', ratio: ASSETS_BYTES_MAX / bytes, ratioMin: 1 };
}

async function measureViews(
  launched: Browser,
  service: ServiceProcess,
  print: (line: string) => void,
): Promise<Ratio[]> {
  const results: Ratio[] = [];
  for (const { name, view, shown } of views) {
    const rounds: Measured[] = [];
    for (let round = 0; round < ROUNDS; round++)
      rounds.push(
        await inNewPage(launched, service, (page) => openView(page, `/#/${WORKGROUP}/${view}`, shown)),
      );
    const ms = median(rounds.map((one) => one.ms));
    const { bytes, url } = rounds[0]!.largest;
    print(
      `page, ${name}: first picture after ${ms.toFixed(0)} ms; largest answer ${(bytes / 1e6).toFixed(2)} MB (${url})`,
    );
    results.push(
      { name: `page, ${name}: time to the first picture`, ratio: PICTURE_MS_MAX / ms, ratioMin: 1 },
      { name: `page, ${name}: size of answers`, ratio: ANSWER_BYTES_MAX / bytes, ratioMin: 1 },
    );
  }
  return results;
}

/** Marks when the picture is on the screen: a task after a frame runs when the frame has been painted. */
const markDrawn = `
  const watching = new MutationObserver(() => {
    if (!document.querySelector('.heat path')) return;
    watching.disconnect();
    requestAnimationFrame(() => setTimeout(() => performance.mark('drawn')));
  });
  watching.observe(document, { childList: true, subtree: true });
`;
const drawnAfterAnswer = `
  performance.getEntriesByName('drawn')[0].startTime -
    performance.getEntriesByType('resource').find(({ name }) => name.includes('/quality?')).responseEnd
`;

/** From the last byte of the answer until the picture is on the screen. */
async function measureHeatMap(
  launched: Browser,
  service: ServiceProcess,
  print: (line: string) => void,
): Promise<Ratio> {
  const rounds: number[] = [];
  let cells = 0;
  for (let round = 0; round < ROUNDS; round++)
    await inNewPage(launched, service, async (page) => {
      await page.addInitScript(markDrawn);
      await page.goto(`/#/${PLANTS.workgroupId}/quality?by=device&from=2025-01-01&to=2025-12-31`);
      // `waitForFunction` cannot be used, because the content security policy of the page forbids running
      // text as code.
      await until('the heat map is drawn', () =>
        page.evaluate<boolean>(`performance.getEntriesByName('drawn').length > 0`),
      );
      rounds.push(await page.evaluate<number>(drawnAfterAnswer));
      cells = (await page.locator('.row-name').count()) * PLANTS.days;
    });
  const ms = median(rounds);
  print(
    `page, heat map of ${cells.toLocaleString('en')} days of devices: drawn ${ms.toFixed(0)} ms after its data`,
  );
  return { name: 'page, heat map of a year of 400 devices', ratio: HEAT_MAP_MS_MAX / ms, ratioMin: 1 };
}

/** The CPU time that ten open pages cost the service while readings arrive: with them minus without them. */
async function measureBrowsers(
  launched: Browser,
  service: ServiceProcess,
  print: (line: string) => void,
): Promise<Ratio> {
  const sending = startSending(service);
  const coreShare = async () => {
    const [cpuBefore, startedMs] = [cpuSeconds(service.processId!), performance.now()];
    await sleep(WATCHED_MS);
    return ((cpuSeconds(service.processId!) - cpuBefore) * 1_000) / (performance.now() - startedMs);
  };
  const contexts = await Promise.all(
    Array.from({ length: BROWSERS }, () => launched.newContext({ baseURL: service.url })),
  );
  try {
    await sleep(SENT_EVERY_MS);
    const without = await coreShare();
    for (const context of contexts) {
      const page = await context.newPage();
      await signIn(page, service);
      await page.goto(`/#/${LIVE.workgroupId}/overview`);
      await page.locator('.overview .heat').first().waitFor();
    }
    await sleep(SENT_EVERY_MS);
    const withBrowsers = await coreShare();
    const cost = Math.max(0.001, withBrowsers - without);
    const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
    print(
      `page, ${BROWSERS} open browsers: the service needs ${percent(withBrowsers)} of a core, ${percent(without)} without them`,
    );
    return { name: `page, cost of ${BROWSERS} open browsers`, ratio: BROWSERS_CORE_MAX / cost, ratioMin: 1 };
  } finally {
    sending.stop();
    for (const context of contexts) await context.close();
  }
}

/** Sends a reading of each device every ten seconds. */
function startSending({ url, token }: ServiceProcess): { stop(): void } {
  const devices = filledDevices(LIVE.devices);
  let total_wh = 1_000_000;
  const send = () => {
    total_wh += 10;
    const readings = devices.map(({ id }) => ({
      device: id,
      source: 'pv',
      event_time: Date.now(),
      data: { total_wh },
    }));
    void fetch(`${url}/api/v1/tables/${LIVE.workgroupId}/solar/messages`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(readings),
    }).then((answer) => answer.arrayBuffer());
  };
  send();
  const timer = setInterval(send, SENT_EVERY_MS);
  return { stop: () => clearInterval(timer) };
}

/** Waits until the service answers quickly, because its worker first looks through a new lake. */
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

/** A page of a person who is signed in. Its scripts are not in the cache. */
async function inNewPage<Result>(
  launched: Browser,
  service: ServiceProcess,
  use: (page: Page) => Promise<Result>,
): Promise<Result> {
  const context = await launched.newContext({ baseURL: service.url });
  try {
    const page = await context.newPage();
    await signIn(page, service);
    await page.goto('about:blank');
    return await use(page);
  } finally {
    await context.close();
  }
}

async function signIn(page: Page, { token }: ServiceProcess): Promise<void> {
  await page.goto(`/#token=${token}`);
  await page.locator('header.top').waitFor();
}

async function openView(page: Page, view: string, shown: string): Promise<Measured> {
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
