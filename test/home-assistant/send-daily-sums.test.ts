import { expect, onTestFinished, test } from 'vitest';
import { connectHomeAssistant } from '../../src/home-assistant/connect-home-assistant.ts';
import { sendDailySums } from '../../src/home-assistant/send-daily-sums.ts';
import { startHomeAssistant } from '../support/home-assistant.ts';

const id = 'wattline:home_energy';

async function connect() {
  const server = await startHomeAssistant();
  const homeAssistant = await connectHomeAssistant(server, new AbortController().signal);
  onTestFinished(() => homeAssistant.close());
  return { server, homeAssistant };
}

/** A row: day of November 2026 (with a part of it), kWh, and the sum until its end. */
type Row = readonly [day: number, state: number, sum: number];
const startOf = (day: number) => Date.UTC(2026, 10, 1) + (day - 1) * 86_400_000;

for (const [what, wh, stored, expected] of [
  [
    'all rows, if there are none',
    { 3: 5_000, 4: 1 },
    [],
    [
      [3, 5, 5],
      [4, 0.001, 5.001],
    ],
  ],
  ['none, if they are the same', { 3: 5_000 }, [[3, 5, 5]], []],
  ['a row with another energy, although its sum is the same', { 3: 5_000 }, [[3, 4, 5]], [[3, 5, 5]]],
  ['a row with another sum, although its energy is the same', { 3: 5_000 }, [[3, 5, 4]], [[3, 5, 5]]],
  [
    'the sum of the last row before the first day, and this sum goes on',
    { 3: 5_000 },
    [
      [1, 1, 10],
      [2, 2, 12],
    ],
    [[3, 5, 17]],
  ],
  [
    'no energy in a row without a day',
    { 3: 5_000, 5: 1_000 },
    [
      [3, 5, 5],
      [4, 2, 7],
      [5, 1, 8],
    ],
    [
      [4, 0, 5],
      [5, 1, 6],
    ],
  ],
  ['nothing of days that are not over', { 3: 5_000, 20: 1_000, 21: 1_000 }, [[22, 1, 1]], [[3, 5, 5]]],
  ['no row that is not at a full hour', { 3: 5_000 }, [[3.01, 1, 1]], [[3, 5, 5]]],
] satisfies Array<[string, Record<number, number>, Row[], Row[]]>)
  test(`Home Assistant gets ${what}`, async () => {
    const { server, homeAssistant } = await connect();
    server.rows = {
      [id]: stored.map(([day, state, sum]) => ({ start: startOf(day!), end: startOf(day!), state, sum })),
    };
    const days = Object.fromEntries(
      Object.entries(wh).map(([day, energyWh]) => [`2026-11-${day.padStart(2, '0')}`, energyWh]),
    );
    const told = { zone: 'Etc/UTC', untilMs: startOf(20) };
    expect(await sendDailySums(homeAssistant, { id, name: 'home', days }, told)).toBe(expected.length);
    const sent = server.commands.filter(({ type }) => type === 'recorder/import_statistics');
    expect(sent.flatMap(({ stats }) => stats)).toEqual(
      expected.map(([day, state, sum]) => ({ start: new Date(startOf(day!)).toISOString(), state, sum })),
    );
  });

test('nothing is asked about a statistic without known days', async () => {
  const { server, homeAssistant } = await connect();
  const told = { zone: 'Etc/UTC', untilMs: startOf(20) };
  expect(await sendDailySums(homeAssistant, { id, name: 'home', days: {} }, told)).toBe(0);
  expect(server.commands).toEqual([]);
});
