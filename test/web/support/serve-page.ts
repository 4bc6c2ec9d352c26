import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import type { TestProject } from 'vitest/node';
// @ts-expect-error it is plain JavaScript, because it runs before packages are installed
import { buildPage } from '../../../.ci/build-page.mjs';
import { systemWaiting } from '../../../src/client/with-retries.ts';
import { addDays, dayStart, localDateOf } from '../../../src/lib/time.ts';
import { createSite } from '../../../src/simulate/create-site.ts';
import { runSimulation } from '../../../src/simulate/run-simulation.ts';
import { until } from '../../support/until.ts';
import { createUpProcess } from '../../support/up-process.ts';
import { findBrowser } from './find-browser.ts';

declare module 'vitest' {
  interface ProvidedContext {
    page: Served | undefined;
  }
}

/** What the tests of the page need: a browser, and a service. */
export interface Served {
  browserEndpoint: string;
  url: string;
  /** May do everything in all workgroups. */
  token: string;
  dataDir: string;
  /** The day before today, in the zone of the workgroups. */
  yesterday: string;
}

const root = join(import.meta.dirname, '..', '..', '..');
const timezone = 'Europe/Berlin';
const DAYS = 3;
export const GARAGE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

/**
 * Starts `wattline up` once for all tests of the page. Workgroup `home` has three days of a simulated site, `shop` a register that was misread at
 * 13:00 yesterday, `mended` the same for tests that correct it, and `empty` nothing.
 */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const browser = findBrowser();
  if (!browser) {
    process.stderr.write(
      'no browser: the tests of the page are skipped. Run: node .ci/prepare.mjs --browser, or name one with WATTLINE_TEST_BROWSER\n',
    );
    project.provide('page', undefined);
    return undefined;
  }
  if (!buildPage(root)) throw new Error('the page cannot be built; see the output above');
  const environment = Object.fromEntries(
    Object.entries(process.env).filter(([, value]) => value !== undefined),
  );
  const server = await chromium.launchServer({
    executablePath: browser.path,
    // The sandbox needs rights that containers and root do not have.
    args: ['--no-sandbox'],
    env: {
      ...(environment as Record<string, string>),
      ...(browser.libraryPath && { LD_LIBRARY_PATH: browser.libraryPath }),
    },
  });
  const folder = mkdtempSync(join(tmpdir(), 'wattline-test-page-'));
  const nowMs = Date.now();
  const today = localDateOf(nowMs, timezone);
  const yesterday = addDays(today, -1);
  const site = createSite({
    seed: 1,
    timezone,
    startMs: dayStart(addDays(today, -DAYS), timezone),
    readingEveryMs: 900_000,
  });
  const shop = {
    timezone,
    devices: [{ id: GARAGE, name: 'garage' }],
    energyStreams: [
      {
        table: 'solar',
        field: 'total_wh',
        method: 'total_energy' as const,
        unit: 'Wh' as const,
        maxPower: '1 MW',
      },
    ],
  };
  const deviceNamed = (name: string) => site.devices.find((device) => device.name === name)!.id;
  const service = await createUpProcess(folder, {
    dataDir: './data',
    pipeline: { publishEvery: '1s' },
    workgroups: [
      {
        id: 'home',
        timezone,
        energyStreams: site.energyStreams,
        devices: site.devices,
        roles: site.roles,
        meters: [
          { code: 'GRID', name: 'grid operator', device: deviceNamed('grid meter'), source: 'import' },
        ],
        sites: [
          { name: 'roof', devices: [{ id: deviceNamed('inverter 2') }, { id: deviceNamed('grid meter') }] },
        ],
        deviceGroups: { roof: site.devices.filter(({ name }) => name === 'inverter 2').map(({ id }) => id) },
      },
      ...['shop', 'mended'].map((id) => ({ id, ...shop })),
      { id: 'empty', timezone },
    ],
  });
  const stop = async () => {
    await Promise.all([server.close(), service.kill()]);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await service.start();
    const { url, token } = service;
    for (const id of ['shop', 'mended'])
      await postMisreadRegister(url, token, id, dayStart(yesterday, timezone));
    await runSimulation({
      site,
      url,
      workgroup: 'home',
      token,
      speed: Number.POSITIVE_INFINITY,
      untilMs: nowMs,
      waiting: {
        ...systemWaiting,
        sleep: async (ms) => void (await new Promise((resolve) => setTimeout(resolve, Math.min(ms, 20)))),
      },
    });
    // Late readings may still come for yesterday, so the day before is compared.
    const settled = addDays(today, -2);
    const expected = site.truth(settled).reduce((sum, { energyWh }) => sum + energyWh, 0);
    await until('the energy of the simulated site is published', async () => {
      const days = await read(
        url,
        token,
        `home/daily-energy?startDate=${settled}&endDate=${yesterday}&groupBy=source`,
      );
      const garages = await Promise.all(
        ['shop', 'mended'].map((id) =>
          read(url, token, `${id}/daily-energy?startDate=${yesterday}&endDate=${yesterday}`),
        ),
      );
      const sum = Object.values(days[settled] ?? {}).reduce((total, wh) => total + wh, 0);
      return (
        sum === expected &&
        Object.keys(days[yesterday] ?? {}).length > 0 &&
        garages.every((one) => one[yesterday]?.[GARAGE] === 205_000)
      );
    });
    project.provide('page', {
      browserEndpoint: server.wsEndpoint(),
      url,
      token,
      dataDir: service.config.dataDir,
      yesterday,
    });
    return stop;
  } catch (error) {
    await stop();
    throw error;
  }
}

async function read(
  url: string,
  token: string,
  path: string,
): Promise<Record<string, Record<string, number>>> {
  const answer = await fetch(`${url}/api/v1/orgs/${path}`, { headers: { Authorization: `Bearer ${token}` } });
  return answer.ok ? ((await answer.json()) as Record<string, Record<string, number>>) : {};
}

/** The example of docs/corrections.md: 1,427,500 is a misread digit. */
const register: ReadonlyArray<[hour: number, wh: number]> = [
  [0, 1_233_000],
  [6, 1_233_000],
  [10, 1_239_000],
  [13, 1_427_500],
  [13.25, 1_250_500],
  [16, 1_256_000],
  [20, 1_261_000],
  [24, 1_261_000],
];

async function postMisreadRegister(
  url: string,
  token: string,
  workgroup: string,
  startMs: number,
): Promise<void> {
  const answer = await fetch(`${url}/api/v1/tables/${workgroup}/solar/messages`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(
      register.map(([hour, total_wh]) => ({
        device: GARAGE,
        event_time: startMs + hour * 3_600_000,
        data: { total_wh },
      })),
    ),
  });
  if (!answer.ok) throw new Error(`the readings were refused with ${answer.status}: ${await answer.text()}`);
}
