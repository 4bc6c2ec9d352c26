import { setTimeout as sleep } from 'node:timers/promises';
import type { ConfigInput } from '../../src/config/config.ts';
import { DEVICE, HOME } from './bucket-services.ts';
import type { ServiceProcess } from './service-process.ts';
import { until } from './until.ts';

/*
 * Input with known energy: messages, meter data and corrections of the last three whole days. The same input
 * gives the same reports on every installation.
 */

const DAY_MS = 86_400_000;
const QUARTER_MS = DAY_MS / 96;
const DAYS = 3;
/** The days are fixed at the start, because a test can run over midnight. */
const START_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS - DAYS * DAY_MS;
const METER = 'GRID-1';
const days = Array.from({ length: DAYS }, (_, index) =>
  new Date(START_MS + index * DAY_MS).toISOString().slice(0, 10),
);
const range = `startDate=${days[0]}&endDate=${days.at(-1)}`;

export const knownWorkgroups: ConfigInput['workgroups'] = [
  {
    id: HOME,
    timezone: 'Etc/UTC',
    meters: [{ code: METER }],
    energyStreams: [{ table: 'solar', field: 'total_wh', method: 'total_energy', unit: 'Wh' }],
  },
];

type Client = Pick<ServiceProcess, 'url' | 'token'>;

export interface Answer {
  status: number;
  text: string;
}

/** @returns status 0 if there was no answer */
export async function ask(
  { url, token }: Client,
  path: string,
  { method = 'GET', type, body }: { method?: string; type?: string; body?: string } = {},
): Promise<Answer> {
  try {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(type && { 'content-type': type }) },
      ...(body !== undefined && { body }),
      signal: AbortSignal.timeout(30_000),
    });
    return { status: answer.status, text: await answer.text() };
  } catch (error) {
    return { status: 0, text: String(error) };
  }
}

const orgs = `/api/v1/orgs/${HOME}`;

/** Sends readings of a register. The readings of all `count` indexes fill the three days. */
export function sendReadings(
  stream: Client,
  source: 'pv' | 'spare',
  { first, end, count }: { first: number; end: number; count: number },
): Promise<Answer> {
  const messages = Array.from({ length: end - first }, (_, index) => {
    const at = first + index;
    return {
      device: DEVICE,
      source,
      event_time: START_MS + Math.floor((at * DAYS * DAY_MS) / count),
      data: { total_wh: 10 * at + (at % 7) },
    };
  });
  return ask(stream, `/api/v1/tables/${HOME}/solar/messages`, {
    method: 'POST',
    type: 'application/json',
    body: JSON.stringify(messages),
  });
}

/** Uploads an hour of meter data. The same index is the same upload. */
export function putMeterData(reports: Client, index: number): Promise<Answer> {
  const hour = (offset: number) => new Date(START_MS + (index + offset) * 3_600_000).toISOString();
  return ask(reports, `${orgs}/meter-data`, {
    method: 'PUT',
    type: 'text/csv',
    body: `meter_code,interval_start,interval_end,energy_kwh\n${METER},${hour(0)},${hour(1)},${index + 1}\n`,
  });
}
export const UPLOADS_MAX = DAYS * 24;

/** Sets the energy of a quarter of an hour. The same index is the same correction. */
export function postCorrection(reports: Client, index: number): Promise<Answer> {
  const at = (offset: number) => new Date(START_MS + (index + offset) * QUARTER_MS).toISOString();
  return ask(reports, `${orgs}/corrections`, {
    method: 'POST',
    type: 'application/json',
    body: JSON.stringify({
      kind: 'set',
      device: DEVICE,
      source: 'spare',
      from: at(0),
      to: at(1),
      energyWh: 1_000 + index,
      reason: `known ${index}`,
      key: `known ${index}`,
    }),
  });
}
export const CORRECTIONS_MAX = DAYS * 96;

/** Repeats a request until it is acknowledged. @throws Error with the answer if the request is wrong */
export async function untilAcknowledged(what: string, send: () => Promise<Answer>): Promise<void> {
  let last: Answer | undefined;
  await until(
    `${what} is acknowledged`,
    async () => {
      last = await send();
      if ([400, 401, 403, 404, 409].includes(last.status))
        throw new Error(`${what} was refused: ${last.status} ${last.text}`);
      if (last.status !== 200) await sleep(200);
      return last.status === 200;
    },
    180_000,
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}; the last answer: ${last?.status} ${last?.text}`);
  });
}

/**
 * Members of answers that can differ between two services with the same energy. They depend on the caller, on
 * the time of the computation, and on the messages that landed together. For example, a day is restated, and
 * not final, if it was final before its last messages.
 */
const MOMENTS = [
  'at',
  'author',
  'batch',
  'computedAt',
  'createdAt',
  'landedAt',
  'status',
  'storedAt',
  'takenIn',
  'uploadedAt',
  'version',
  'versions',
];

/** The daily energy, the meter data, the corrections and the explanation of each day. */
export async function knownReports(reports: Client): Promise<Record<string, unknown>> {
  const paths = [
    `daily-energy/details?${range}`,
    `meter-data/details?${range}`,
    'corrections?limit=1000',
    ...days.map((day) => `daily-energy/explain?device=${DEVICE}&day=${day}`),
  ];
  const answers: Record<string, unknown> = {};
  for (const path of paths) {
    const { status, text } = await ask(reports, `${orgs}/${path}`);
    answers[path] =
      status === 200
        ? JSON.parse(text, (key, value) => (MOMENTS.includes(key) ? undefined : withoutRepeated(value)))
        : { status, text };
  }
  return answers;
}

/** Messages without an answer are sent again, so some readings can be stored twice. */
function withoutRepeated(value: unknown): unknown {
  return Array.isArray(value) ? value.filter((item) => item?.fate !== 'repeated') : value;
}

/**
 * Reads daily energy again and again.
 * @returns ends it, and returns the answers that lacked days which earlier answers had
 */
export function watchReports(reports: Client): () => Promise<{ answers: number; wrong: string[] }> {
  const stopping = new AbortController();
  const seen = new Set<string>();
  const wrong: string[] = [];
  let answers = 0;
  const watching = (async () => {
    while (!stopping.signal.aborted) {
      const { status, text } = await ask(reports, `${orgs}/daily-energy?${range}`);
      if (status === 200) {
        answers++;
        const reported = new Set(Object.keys(JSON.parse(text)));
        if ([...seen].some((day) => !reported.has(day))) wrong.push(text);
        for (const day of reported) seen.add(day);
      }
      await sleep(200, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  })();
  return async () => {
    stopping.abort();
    await watching;
    return { answers, wrong };
  };
}
