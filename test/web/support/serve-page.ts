import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import type { TestProject } from 'vitest/node';
// @ts-expect-error it is plain JavaScript, because it runs before packages are installed
import { buildPage } from '../../../.ci/build-page.mjs';
import type { TelemetryItem } from '../../../src/contract/messages.ts';
import { addDays, dayStart, HOUR_MS, INTERVAL_MS, localDateOf } from '../../../src/lib/time.ts';
import { createSite, type Site } from '../../../src/simulate/create-site.ts';
import { buildProgram } from '../../support/build-program.ts';
import { type FilledDays, fillDays, filledDevices } from '../../support/fill-days.ts';
import { until } from '../../support/until.ts';
import { createUpProcess } from '../../support/up-process.ts';
import { findBrowser } from './find-browser.ts';
import {
  hourly,
  prepareClosedDays,
  prepareLostMessages,
  prepareStreams,
  type Received,
} from './prepare-past.ts';

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
  /** The last day of workgroup `island` on which the clocks have changed. */
  clockDay: string;
  /** The days of workgroup `plants`. */
  plants: FilledDays;
}

const root = join(import.meta.dirname, '..', '..', '..');
const timezone = 'Europe/Berlin';
/** A day is usual if at least five days before it are known. */
const DAYS = 8;
/** Its offset ends in half an hour. Its clocks change by half an hour. */
export const ISLAND_ZONE = 'Australia/Lord_Howe';
export const GARAGE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

/**
 * Starts `wattline up` once for all tests of the page, if one of them runs. Workgroup `home` has eight days
 * of a simulated site, `shop` a register that was misread at 13:00 yesterday, a budget and an unreadable
 * value, `mended` the same register for tests that correct it, `island` a day on which the clocks have
 * changed, `plants` three years of 400 devices, and `empty` nothing. `past` has
 * closed days that were restated, a meter that is uploaded, and a gap that can be filled; `torn` a gap that
 * cannot.
 */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const { config, state } = project.vitest;
  // In watch mode other files can be chosen later.
  if (!config.watch && !state.getPaths().some((path) => path.endsWith('.page.test.ts'))) {
    project.provide('page', undefined);
    return undefined;
  }
  // The general setup does not build it for test files that only use the service of this setup.
  await buildProgram();
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
  const plantDays = 3 * 365;
  const plants: FilledDays = {
    workgroupId: 'plants',
    devices: 400,
    sources: ['pv'],
    firstDay: addDays(yesterday, 1 - plantDays),
    days: plantDays,
    quality: 'mixed',
    profileDay: yesterday,
  };
  const receiver = createServer((_, reply) => reply.end());
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const deviceNamed = (name: string) => site.devices.find((device) => device.name === name)!.id;
  const service = await createUpProcess(folder, {
    dataDir: './data',
    pipeline: { publishEvery: '1s', currentEvery: '5s' },
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
      {
        id: 'shop',
        ...shop,
        meters: [{ code: 'G-1', name: 'garage meter', device: GARAGE }],
        sites: [{ name: 'garage', meters: [{ code: 'G-1' }], devices: [{ id: GARAGE }] }],
      },
      { id: 'mended', ...shop },
      { id: 'island', ...shop, timezone: ISLAND_ZONE },
      { id: 'plants', timezone, devices: filledDevices(plants.devices) },
      { id: 'empty', timezone },
      {
        id: 'past',
        ...shop,
        meters: [{ code: 'M-1', name: 'main meter' }],
        sites: [{ name: 'works', meters: [{ code: 'M-1' }], devices: [{ id: GARAGE }] }],
      },
      { id: 'torn', ...shop },
    ],
    // No disk is as empty as this limit asks for, so workgroup `shop` has an alert.
    alerts: {
      channels: [
        {
          id: 'ops',
          webhook: { url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}` },
          workgroups: ['shop'],
        },
      ],
      checkEvery: '5s',
      conditions: { disk: { limit: 1, for: 0 } },
    },
    exports: [
      {
        id: 'daily',
        workgroup: 'shop',
        report: 'device_daily_energy',
        range: 'yesterday',
        format: 'csv',
        destination: { folder: join(folder, 'reports') },
      },
    ],
  });
  const stop = async () => {
    await Promise.all([server.close(), service.kill()]);
    receiver.closeAllConnections();
    receiver.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const { dataDir } = service.config;
    const past = { dataDir, timezone, device: GARAGE, streams: shop.energyStreams, nowMs };
    const clockDay = lastClockChange(yesterday);
    const unreadable = {
      device: GARAGE,
      event_time: dayStart(yesterday, timezone) + 7 * HOUR_MS,
      data: { total_wh: 'broken' },
    };
    const misread = misreadRegister(dayStart(yesterday, timezone));
    await Promise.all([
      fillDays(dataDir, plants),
      prepareClosedDays({ ...past, workgroupId: 'past' }, today),
      prepareLostMessages({ ...past, workgroupId: 'torn' }),
      prepareStreams(
        [
          ...messagesOfSite(site, nowMs),
          { workgroupId: 'shop', table: 'solar', items: [...misread, unreadable] },
          { workgroupId: 'mended', table: 'solar', items: misread },
          { workgroupId: 'island', table: 'solar', items: registerOf(clockDay) },
        ],
        { dataDir, nowMs },
      ),
    ]);
    await service.start();
    const { url, token } = service;
    await Promise.all([
      put(
        url,
        token,
        'shop/budget-data',
        `meter_code,period,energy_kwh,scenario\nG-1,${yesterday},200,P50\n`,
      ),
      postPast(url, token, today),
    ]);
    // Late readings may still come for yesterday, so the day before is compared.
    const settled = addDays(today, -2);
    const expected = site.truth(settled).reduce((sum, { energyWh }) => sum + energyWh, 0);
    await until('the energy of the simulated site is published', async () => {
      const days = await read(
        url,
        token,
        `home/daily-energy?startDate=${settled}&endDate=${yesterday}&groupBy=source`,
      );
      const sum = Object.values(days[settled] ?? {}).reduce((total, wh) => total + wh, 0);
      if (sum !== expected || Object.keys(days[yesterday] ?? {}).length === 0) return false;
      const island = await read(url, token, `island/daily-energy?startDate=${clockDay}&endDate=${clockDay}`);
      if (island[clockDay]?.[GARAGE] === undefined) return false;
      const garages = await Promise.all(
        ['shop', 'mended'].map((id) =>
          read(url, token, `${id}/daily-energy?startDate=${yesterday}&endDate=${yesterday}`),
        ),
      );
      return garages.every((one) => one[yesterday]?.[GARAGE] === 205_000);
    });
    project.provide('page', {
      browserEndpoint: server.wsEndpoint(),
      url,
      token,
      dataDir: service.config.dataDir,
      yesterday,
      clockDay,
      plants,
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

function misreadRegister(startMs: number): TelemetryItem[] {
  return register.map(([hour, total_wh]) => ({
    device: GARAGE,
    event_time: startMs + hour * HOUR_MS,
    data: { total_wh },
  }));
}

/** Everything that has arrived until now. */
function messagesOfSite(site: Site, nowMs: number): Received[] {
  const tables = Map.groupBy(site.messagesUntil(nowMs), ({ table }) => table);
  return [...tables].map(([table, groups]) => ({
    workgroupId: 'home',
    table,
    items: groups.flatMap((group) => group.items),
  }));
}

async function postMessages(
  url: string,
  token: string,
  workgroup: string,
  messages: object[],
): Promise<void> {
  const answer = await fetch(`${url}/api/v1/tables/${workgroup}/solar/messages`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(messages),
  });
  if (!answer.ok) throw new Error(`the readings were refused with ${answer.status}: ${await answer.text()}`);
}

/** A register that grows by 1,000 Wh in each quarter of an hour of a day. */
function registerOf(day: string): TelemetryItem[] {
  const startMs = dayStart(day, ISLAND_ZONE);
  const endMs = dayStart(addDays(day, 1), ISLAND_ZONE);
  const count = (endMs - startMs) / INTERVAL_MS;
  return Array.from({ length: count + 1 }, (_, index) => ({
    device: GARAGE,
    event_time: startMs + index * INTERVAL_MS,
    data: { total_wh: 1_000_000 + index * 1_000 },
  }));
}

function lastClockChange(before: string): string {
  for (let day = before; ; day = addDays(day, -1)) {
    const lengthMs = dayStart(addDays(day, 1), ISLAND_ZONE) - dayStart(day, ISLAND_ZONE);
    if (lengthMs !== 24 * HOUR_MS) return day;
  }
}

/**
 * Late readings of closed days, which restate two of them and give two others their first energy; readings
 * and budgets of a meter.
 */
async function postPast(url: string, token: string, today: string): Promise<void> {
  const midnight = dayStart(addDays(today, -14), timezone);
  const [corrected] = hourly(timezone, addDays(today, -20), addDays(today, -14), addDays(today, -14));
  const last = hourly(timezone, addDays(today, -20), addDays(today, -6), addDays(today, -4));
  await postMessages(
    url,
    token,
    'past',
    [{ ms: midnight, wh: corrected!.wh - 250 }, ...last].map(({ ms, wh }) => ({
      device: GARAGE,
      event_time: ms,
      data: { total_wh: wh },
    })),
  );
  const days = [-18, -17, -16].map((back) => addDays(today, back));
  const meter = days.map(
    (day, index) =>
      `M-1,${new Date(dayStart(day, timezone)).toISOString()},${new Date(dayStart(addDays(day, 1), timezone)).toISOString()},${12 + index / 8}`,
  );
  await put(
    url,
    token,
    'past/meter-data',
    ['meter_code,interval_start,interval_end,energy_kwh', ...meter, ''].join('\n'),
  );
  const budgets = days.map((day, index) => `M-1,${day},${11.5 + index},P50`);
  await put(
    url,
    token,
    'past/budget-data',
    ['meter_code,period,energy_kwh,scenario', ...budgets, ''].join('\n'),
  );
}

async function put(url: string, token: string, path: string, csv: string): Promise<void> {
  const answer = await fetch(`${url}/api/v1/orgs/${path}`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'text/csv' },
    body: csv,
  });
  if (!answer.ok) throw new Error(`${path} was refused with ${answer.status}: ${await answer.text()}`);
}
