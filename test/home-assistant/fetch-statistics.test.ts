import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, test } from 'vitest';
import { connectHomeAssistant } from '../../src/home-assistant/connect-home-assistant.ts';
import { fetchStatistics } from '../../src/home-assistant/fetch-statistics.ts';
import { listStatistics } from '../../src/home-assistant/list-statistics.ts';
import { type StoredStatistic, startHomeAssistant } from '../support/home-assistant.ts';
import { tempDir } from '../support/temp-dir.ts';

const DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

interface GivenStatistic extends Pick<StoredStatistic, 'unit' | 'kind'> {
  start: string;
  values: ReadonlyArray<number | null>;
}

/** The files of all statistics of a server by name. Each statistic is a source with its id. */
async function fetched(statistics: Record<string, GivenStatistic>, range: { from?: string; until: string }) {
  const server = await startHomeAssistant();
  for (const [id, { start, values, ...rest }] of Object.entries(statistics))
    server.statistics.set(id, { ...rest, name: null, startMs: Date.parse(start), values: [...values] });
  const homeAssistant = await connectHomeAssistant(server, new AbortController().signal);
  try {
    const known = await listStatistics(homeAssistant);
    const chosen = known.map((one) => ({ ...one, device: DEVICE, source: one.id }));
    const files = await fetchStatistics(homeAssistant, chosen, range, { folder: tempDir() });
    return Object.fromEntries(files.map((path) => [basename(path), readFileSync(path, 'utf8').split('\n')]));
  } finally {
    homeAssistant.close();
  }
}

const count = (values: number) => Array.from({ length: values }, (_, hour) => hour + 1);

test('the value of an hour is at its end, the sum of energy in Wh and the mean of power in W', async () => {
  const files = await fetched(
    {
      'sensor.pv': { unit: 'kWh', kind: 'sum', start: '2026-01-05T00:00Z', values: [0.0012345, null, 2] },
      'sensor.a,b': { unit: 'kW', kind: 'mean', start: '2026-01-05T00:00Z', values: [0, 0.4] },
      'sensor.mean_energy': { unit: 'kWh', kind: 'mean', start: '2026-01-05T00:00Z', values: [1] },
    },
    { from: '2026-01-05', until: '2026-01-05' },
  );
  expect(files['home-assistant-2026-01-05.csv']).toEqual([
    'time,device,source,energy_wh,power_w',
    `2026-01-05T01:00:00.000Z,${DEVICE},"sensor.a,b",,0`,
    `2026-01-05T01:00:00.000Z,${DEVICE},sensor.pv,1.235,`,
    `2026-01-05T02:00:00.000Z,${DEVICE},"sensor.a,b",,400`,
    `2026-01-05T03:00:00.000Z,${DEVICE},sensor.pv,2000,`,
    '',
  ]);
});

test('a month that is over is one file, and each day of the last month one', async () => {
  const pv = { unit: 'kWh', kind: 'sum', start: '2025-12-30T00:00Z', values: count(4 * 24) } as const;
  const rowsOf = async (range: { from?: string; until: string }) =>
    Object.entries(await fetched({ pv }, range)).map(([name, lines]) => `${name} ${lines.length - 2}`);
  expect(await rowsOf({ until: '2026-01-02' })).toEqual([
    'home-assistant-2025-12.csv 48',
    'home-assistant-2026-01-01.csv 24',
    'home-assistant-2026-01-02.csv 24',
  ]);
  expect(await rowsOf({ from: '2025-12-31', until: '2025-12-31' })).toEqual([
    'home-assistant-2025-12.csv 24',
  ]);
  expect(await rowsOf({ from: '2025-12-30', until: '2025-12-30' })).toEqual([
    'home-assistant-2025-12-30.csv 24',
  ]);
  expect(await rowsOf({ from: '2026-02-01', until: '2026-03-01' })).toEqual([]);
});

test('a name with quotes or a line break is one cell', async () => {
  const named = { unit: 'kWh', kind: 'sum', start: '2026-01-05T00:00Z', values: [1] } as const;
  const files = await fetched({ '"a"': named, 'a\nb': named }, { from: '2026-01-05', until: '2026-01-05' });
  expect(files['home-assistant-2026-01-05.csv']?.slice(1)).toEqual([
    `2026-01-05T01:00:00.000Z,${DEVICE},"${'""a""'}",1000,`,
    `2026-01-05T01:00:00.000Z,${DEVICE},"a`,
    'b",1000,',
    '',
  ]);
});

test('statistics without rows have no file', async () => {
  const none = { unit: 'kWh', kind: 'sum', start: '2026-01-01T00:00Z', values: [] } as const;
  expect(await fetched({ none }, { until: '2026-01-01' })).toEqual({});
});

test('only the hours of the days that are asked for are taken, whatever the server answers', async () => {
  const server = await startHomeAssistant();
  const homeAssistant = await connectHomeAssistant(server, new AbortController().signal);
  const hours = ['2026-01-04T23:00Z', '2026-01-05T00:00Z', '2026-01-05T23:00Z', '2026-01-06T00:00Z'];
  server.rows = {
    pv: hours.map((time) => ({ start: Date.parse(time), end: Date.parse(time) + 3_600_000, sum: 1 })),
  };
  const chosen = [
    { id: 'pv', name: null, kind: 'energy', unit: 'kWh', device: DEVICE, source: 'pv' },
  ] as const;
  const range = { from: '2026-01-05', until: '2026-01-05' };
  const [path] = await fetchStatistics(homeAssistant, chosen, range, { folder: tempDir() });
  homeAssistant.close();
  expect(readFileSync(path!, 'utf8').split('\n').slice(1, -1)).toEqual([
    `2026-01-05T01:00:00.000Z,${DEVICE},pv,1,`,
    `2026-01-06T00:00:00.000Z,${DEVICE},pv,1,`,
  ]);
});

test('more than 20 statistics are asked for in several requests', async () => {
  const one = { unit: 'W', kind: 'mean', start: '2026-01-05T00:00Z', values: [5] } as const;
  const many = Object.fromEntries(Array.from({ length: 41 }, (_, index) => [`sensor.${index}`, one]));
  const files = await fetched(many, { from: '2026-01-05', until: '2026-01-05' });
  expect(files['home-assistant-2026-01-05.csv']).toHaveLength(43);
});
