import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createAccess } from '../../src/access/access.ts';
import { systemWaiting } from '../../src/client/backoff.ts';
import type { ConfigInput } from '../../src/config/config.ts';
import {
  addDays,
  DAY_MS,
  dayStart,
  HOUR_MS,
  INTERVAL_MS,
  localDateOf,
  MINUTE_MS,
  systemClock,
} from '../../src/lib/time.ts';
import { createSite } from '../../src/simulate/create-site.ts';
import { runSimulation } from '../../src/simulate/run-simulation.ts';
import { until } from '../../test/support/until.ts';
import { createUpProcess, type ServiceProcess } from '../../test/support/up-process.ts';

/** The service that the screenshots show. */
export interface Showcase {
  service: ServiceProcess;
  /** The day before today. */
  yesterday: string;
  /** A device with a misread register yesterday. */
  misread: string;
  stop(): Promise<void>;
}

const WORKGROUP = 'demo';
const AFTERNOON_HOUR = 15;
/** The clock of the site shows the afternoon, so that today has something to show. */
const TIMEZONE = afternoonZone(Date.now());
const DAYS = 40;
const GARAGE_DAY_WH = 28_000;
/** Such as 2,143,500 instead of 2,113,500. */
const MISREAD_WH = 30_000;
const CORRECTED_DAYS_AGO = 9;
const GARAGE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

/**
 * Starts `wattline up` in a folder, with 40 days of the site of the demo, a meter with a misread digit, a
 * corrected day, a budget, and an export. The site follows the clock until it is stopped.
 */
export async function startShowcase(folder: string): Promise<Showcase> {
  const nowMs = Date.now();
  const today = localDateOf(nowMs, TIMEZONE);
  const yesterday = addDays(today, -1);
  const site = createSite({
    seed: 1,
    timezone: TIMEZONE,
    startMs: dayStart(addDays(today, -DAYS), TIMEZONE),
    readingEveryMs: 5 * MINUTE_MS,
  });
  const idOf = (name: string) => site.devices.find((device) => device.name === name)!.id;
  mkdirSync(join(folder, 'reports'), { recursive: true });
  const service = await createUpProcess(folder, {
    dataDir: './data',
    stream: { deviceTimeout: '12m' },
    pipeline: { publishEvery: '2s', currentEvery: '2s' },
    workgroups: [
      {
        id: WORKGROUP,
        timezone: TIMEZONE,
        energyStreams: [
          ...site.energyStreams,
          { table: 'garage', field: 'total_wh', method: 'total_energy', unit: 'Wh', maxPower: '1 MW' },
        ],
        devices: [...site.devices, { id: GARAGE, name: 'garage roof' }],
        roles: [...site.roles, { device: GARAGE, role: 'production' }],
        meters: [
          { code: 'GRID', name: 'grid operator', device: idOf('grid meter'), source: 'import' },
          { code: 'PV-2', name: 'panels 2', device: idOf('inverter 2') },
          { code: 'PV-3', name: 'panels 3', device: idOf('inverter 3') },
        ],
        sites: [
          {
            name: 'house',
            meters: [{ code: 'PV-2' }],
            devices: [{ id: idOf('inverter 2') }],
          },
          { name: 'barn', meters: [{ code: 'PV-3' }], devices: [{ id: idOf('inverter 3') }] },
        ],
      },
    ],
    exports: [
      {
        id: 'billing',
        workgroup: WORKGROUP,
        report: 'daily_energy',
        range: 'last_month',
        format: 'csv',
        schedule: '0 6 1 * *',
        destination: { folder: join(folder, 'reports') },
      },
      {
        id: 'morning',
        workgroup: WORKGROUP,
        report: 'variance',
        site: 'house',
        range: 'month_to_date',
        format: 'csv',
        schedule: '30 6 * * *',
        destination: { folder: join(folder, 'reports') },
      },
    ],
  } satisfies ConfigInput);
  const ending = new AbortController();
  let simulating: Promise<unknown> = Promise.resolve();
  const stop = async () => {
    ending.abort();
    await simulating;
    await service.stop();
  };
  try {
    await service.start();
    await postRegister(service, { firstDay: addDays(today, -DAYS), yesterday, nowMs });
    await putBudgets(service, today);
    await issueTokens(service);
    simulating = runSimulation({
      site,
      url: service.url,
      workgroup: WORKGROUP,
      token: service.token,
      speed: Number.POSITIVE_INFINITY,
      signal: ending.signal,
      waiting: {
        ...systemWaiting,
        // The service asks a fast sender to wait. A short wait is enough here.
        sleep: (ms, signal) => systemWaiting.sleep(Math.min(ms, 50), signal),
      },
    });
    simulating.catch(() => undefined);
    await until(
      'the energy of yesterday is published',
      async () => {
        const answer = await fetch(
          `${service.url}/api/v1/orgs/${WORKGROUP}/daily-energy?startDate=${yesterday}&endDate=${yesterday}`,
          { headers: { Authorization: `Bearer ${service.token}` } },
        );
        const days = (await answer.json()) as Record<string, Record<string, number>>;
        return Object.keys(days[yesterday] ?? {}).length > site.devices.length;
      },
      300_000,
    );
    await until(
      'the pictures have the readings of now',
      async () => {
        const answer = await fetch(`${service.url}/api/v1/orgs/${WORKGROUP}/status`, {
          headers: { Authorization: `Bearer ${service.token}` },
        });
        const { newestReadingAt, stages } = (await answer.json()) as {
          newestReadingAt: string | null;
          stages: Record<'poll' | 'maintain', { lastSuccessAt: string | null; upToDate?: boolean | null }>;
        };
        const isNow = newestReadingAt !== null && Date.parse(newestReadingAt) >= Date.now() - 15 * MINUTE_MS;
        return isNow && stages.poll.upToDate === true && stages.maintain.lastSuccessAt !== null;
      },
      300_000,
    );
    await until(
      'the month is compared with its budget',
      async () => {
        const answer = await fetch(
          `${service.url}/api/v1/orgs/${WORKGROUP}/sites/house/variance?startDate=${yesterday.slice(0, 7)}-01&endDate=${yesterday}`,
          { headers: { Authorization: `Bearer ${service.token}` } },
        );
        const { days } = (await answer.json()) as { days: Record<string, { actualWh: number | null }> };
        const values = Object.values(days);
        return values.length > 0 && values.every(({ actualWh }) => actualWh !== null);
      },
      300_000,
    );
    await correctDay(service, addDays(today, -CORRECTED_DAYS_AGO));
    await send(service, 'POST', `orgs/${WORKGROUP}/exports/morning/run`, '{}', 'json');
    return { service, yesterday, misread: GARAGE, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * A register that is read each quarter of an hour until now, with a digit that was misread yesterday, as in
 * docs/corrections.md.
 */
async function postRegister(
  service: ServiceProcess,
  { firstDay, yesterday, nowMs }: { firstDay: string; yesterday: string; nowMs: number },
): Promise<void> {
  let register = 1_003_000;
  for (let day = firstDay; dayStart(day, TIMEZONE) <= nowMs; day = addDays(day, 1)) {
    const [startMs, endMs] = [dayStart(day, TIMEZONE), dayStart(addDays(day, 1), TIMEZONE)];
    const messages: object[] = [];
    for (let atMs = startMs; atMs < endMs && atMs <= nowMs; atMs += INTERVAL_MS) {
      const hour = (atMs - startMs) / HOUR_MS;
      const misreadWh = day === yesterday && hour === 13 ? MISREAD_WH : 0;
      messages.push({
        device: GARAGE,
        event_time: atMs,
        data: { total_wh: register + grownBy(hour) + misreadWh },
      });
    }
    // The value of a display that starts: dashes in place of a number.
    if (day === yesterday)
      messages.push({ device: GARAGE, event_time: startMs + 5 * HOUR_MS + 1, data: { total_wh: '-----' } });
    await send(service, 'POST', `tables/${WORKGROUP}/garage/messages`, JSON.stringify(messages), 'json');
    register += GARAGE_DAY_WH;
  }
}

/** The energy (Wh) that a roof has produced from midnight to an hour of the day. It produces most at noon. */
function grownBy(hour: number): number {
  const share = Math.min(1, Math.max(0, (hour - 7) / 10));
  return Math.round((GARAGE_DAY_WH * share ** 2 * (3 - 2 * share)) / 100) * 100;
}

/** A closed day that a person has corrected, so that one has changed. */
async function correctDay(service: ServiceProcess, day: string): Promise<void> {
  const correction = {
    ...{ kind: 'set_day', device: GARAGE, source: 'default', day, energyWh: GARAGE_DAY_WH - 1_500 },
    reason: 'a loose cable, repaired the same day',
  };
  await send(service, 'POST', `orgs/${WORKGROUP}/corrections`, JSON.stringify(correction), 'json');
  await until(
    'the corrected day is published',
    async () => {
      const answer = await fetch(
        `${service.url}/api/v1/orgs/${WORKGROUP}/daily-energy/changes?since=${day}&devices=${GARAGE}`,
        { headers: { Authorization: `Bearer ${service.token}` } },
      );
      const { changes } = (await answer.json()) as { changes: ReadonlyArray<{ causes: string[] }> };
      return changes.some(({ causes }) => causes.includes('correction'));
    },
    300_000,
  );
}

/** Tokens that the page lists. */
async function issueTokens({ config }: ServiceProcess): Promise<void> {
  const access = await createAccess({ dataDir: config.dataDir, ...config.access, clock: systemClock });
  for (const [subject, permissions] of [
    ['dashboard', ['search:read']],
    ['gateway', ['data:write']],
  ] as const)
    await access.issue({
      subject,
      scopes: { [WORKGROUP]: { permissions: [...permissions] } },
      lifetimeMs: 365 * DAY_MS,
    });
}

async function putBudgets(service: ServiceProcess, today: string): Promise<void> {
  const months = [addDays(`${today.slice(0, 7)}-01`, -1).slice(0, 7), today.slice(0, 7)];
  const rows = months.flatMap((month) => [`PV-2,${month},580,P50`, `PV-3,${month},190,P50`]);
  const text = ['meter_code,period,energy_kwh,scenario', ...rows, ''].join('\n');
  await send(service, 'PUT', `orgs/${WORKGROUP}/budget-data`, text, 'csv');
}

async function send(
  { url, token }: ServiceProcess,
  method: string,
  path: string,
  body: string,
  kind: 'csv' | 'json',
): Promise<void> {
  const type = { csv: 'text/csv', json: 'application/json' }[kind];
  const answer = await fetch(`${url}/api/v1/${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': type },
    body,
  });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
}

function afternoonZone(nowMs: number): string {
  const zones = [
    'Europe/Berlin',
    'America/Sao_Paulo',
    'America/New_York',
    'America/Los_Angeles',
    'Pacific/Auckland',
    'Asia/Tokyo',
    'Asia/Kolkata',
    'Asia/Dubai',
  ];
  const hoursAway = (zone: string) => {
    const hour = Number(
      new Intl.DateTimeFormat('en', { hour: 'numeric', hourCycle: 'h23', timeZone: zone }).format(nowMs),
    );
    return Math.abs(hour - AFTERNOON_HOUR);
  };
  return zones.toSorted((a, b) => hoursAway(a) - hoursAway(b))[0]!;
}
