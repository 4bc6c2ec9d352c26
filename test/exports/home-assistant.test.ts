import { expect, onTestFinished, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { parse } from 'yaml';
import { configSchema } from '../../src/config/config.ts';
import { connectHomeAssistant } from '../../src/home-assistant/connect-home-assistant.ts';
import { energyStatisticId } from '../../src/home-assistant/energy-statistic-id.ts';
import { sendDailySums } from '../../src/home-assistant/send-daily-sums.ts';
import { addDays, MINUTE_MS } from '../../src/lib/time.ts';
import { storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { type HomeAssistantServer, startHomeAssistant } from '../support/home-assistant.ts';
import { deviceId } from '../support/messages.ts';
import { blocksOf, pages } from '../support/readme.ts';
import { isSoak } from '../support/rounds.ts';
import { type ExportFixture, openExportFixture } from './exports-fixture.ts';

const signal = new AbortController().signal;
const roof = deviceId(1);
const id = energyStatisticId(WORKGROUP, roof, 'inverter');
/** The third day is not known, and the last one is not over. */
const days = [
  { day: '2026-11-16', device: 1, energyWh: 12_345 },
  { day: '2026-11-17', device: 1, energyWh: 1_001 },
  { day: '2026-11-19', device: 1, energyWh: 4_000 },
  { day: '2026-11-20', device: 1, energyWh: 77 },
];

async function openHome(timezone = 'Europe/Berlin', url?: string) {
  const server = await startHomeAssistant();
  const at = await openExportFixture(
    [{ destination: { homeAssistant: { url: url ?? server.url, token: server.token } } }],
    { timezone, devices: [{ id: roof, name: 'roof' }] },
  );
  await storeDays(at.shard, days);
  await at.publish();
  return { server, at };
}

const run = ({ exports }: ExportFixture, corrected = false) => exports.run('export1', { corrected }, signal);
const rowsOf = ({ imported }: HomeAssistantServer, of = id) => Object.fromEntries(imported.get(of)!.rows);
const sent = ({ commands }: HomeAssistantServer) =>
  commands.filter(({ type }) => type === 'recorder/import_statistics');

test('each known day that is over is a row with its energy and the sum of all days', {
  tags: ['slow'],
}, async () => {
  const { server, at } = await openHome();
  const { run: done } = await run(at);
  expect(done.delivered!.to).toBe(
    `Home Assistant at ${new URL(server.url).host}: 3 changed rows of 1 statistic`,
  );
  expect([...server.imported.keys()]).toEqual([id]);
  expect(server.imported.get(id)!.metadata).toEqual({
    statistic_id: id,
    source: 'wattline',
    name: 'roof inverter',
    unit_of_measurement: 'kWh',
    unit_class: 'energy',
    has_sum: true,
    mean_type: 0,
  });
  expect(rowsOf(server)).toEqual({
    '2026-11-15T23:00:00.000Z': { state: 12.345, sum: 12.345 },
    '2026-11-16T23:00:00.000Z': { state: 1.001, sum: 13.346 },
    '2026-11-18T23:00:00.000Z': { state: 4, sum: 17.346 },
  });
  expect((await run(at)).kind).toBe('already-delivered');
  expect(sent(server)).toHaveLength(1);
});

test('a restated day changes the sums from it on, and a day that is unknown again has no energy', {
  tags: ['slow'],
}, async () => {
  const { server, at } = await openHome();
  await run(at);
  await storeDays(at.shard, [{ ...days[1]!, energyWh: 2_001 }]);
  await at.publish();
  await run(at, true);
  expect(sent(server).at(-1)!.stats).toEqual([
    { start: '2026-11-16T23:00:00.000Z', state: 2.001, sum: 14.346 },
    { start: '2026-11-18T23:00:00.000Z', state: 4, sum: 18.346 },
  ]);
  await at.shard.transaction(async (connection) => {
    await connection.run("DELETE FROM daily_energy WHERE day = DATE '2026-11-17'");
    await connection.run("INSERT INTO dirty_partition VALUES ('daily_energy', '2026-11')");
  });
  await at.publish();
  await run(at, true);
  expect(rowsOf(server)).toEqual({
    '2026-11-15T23:00:00.000Z': { state: 12.345, sum: 12.345 },
    '2026-11-16T23:00:00.000Z': { state: 0, sum: 12.345 },
    '2026-11-18T23:00:00.000Z': { state: 4, sum: 16.345 },
  });
  // If the first days are lost here, the sum continues from the row before.
  await at.shard.transaction(async (connection) => {
    await connection.run("DELETE FROM daily_energy WHERE day < DATE '2026-11-19'");
    await connection.run("INSERT INTO dirty_partition VALUES ('daily_energy', '2026-11')");
  });
  await at.publish();
  const messages = sent(server).length;
  await run(at, true);
  expect(sent(server)).toHaveLength(messages);
});

test('a delivery that is interrupted continues after a restart, and does not begin again', {
  tags: ['slow'],
}, async () => {
  const { server, at } = await openHome();
  await storeDays(at.shard, [{ day: '2026-11-19', device: 2, energyWh: 10 }]);
  await at.publish();
  server.onCommand = ({ type }, socket) => {
    if (type === 'recorder/import_statistics' && sent(server).length === 2) socket.terminate();
  };
  await expect(run(at)).rejects.toThrow('has ended the connection; try again');
  delete server.onCommand;
  // The last message was stored, but its answer is lost. Nothing is left to send.
  await at.clock.advance(MINUTE_MS);
  await at.restart().work(WORKGROUP, signal);
  await at.restart().work(WORKGROUP, signal);
  expect(await at.ledger().runs()).toMatchObject([{ state: 'delivered', attempts: 2 }]);
  expect(sent(server).map(({ stats }) => (stats as unknown[]).length)).toEqual([3, 1]);
  expect(rowsOf(server)['2026-11-18T23:00:00.000Z']).toEqual({ state: 4, sum: 17.346 });
});

test('a message has at most 1,000 days, and the sum continues in the next one', async () => {
  const server = await startHomeAssistant();
  const known = Array.from({ length: 1_004 }, (_, index) => [addDays('2022-01-01', index), 10] as const);
  const series = { id, name: 'roof inverter', days: Object.fromEntries(known) };
  const homeAssistant = await connectHomeAssistant({ url: server.url, token: server.token }, signal);
  onTestFinished(() => homeAssistant.close());
  const told = { zone: 'Etc/UTC', untilMs: Date.UTC(2026, 10, 20) };
  expect(await sendDailySums(homeAssistant, series, told)).toBe(1_004);
  expect(sent(server).map(({ stats }) => (stats as unknown[]).length)).toEqual([1_000, 4]);
  expect(server.imported.get(id)!.rows.size).toBe(1_004);
  expect(rowsOf(server)['2024-09-30T00:00:00.000Z']).toEqual({ state: 0.01, sum: 10.04 });
  expect(await sendDailySums(homeAssistant, series, told)).toBe(0);
});

test('a refused token or command says what to do, is tried again, and is never shown', {
  tags: ['slow'],
}, async () => {
  const { server, at } = await openHome();
  const { token } = server;
  server.token = 'another-token';
  await expect(run(at)).rejects.toThrow('refuses the token; create a long-lived access token');
  const [waiting] = await at.ledger().runs();
  expect(waiting).toMatchObject({ state: 'waiting', lastError: { code: 'HomeAssistantToken' } });
  expect(JSON.stringify(waiting)).not.toContain(token);
  server.token = token;
  server.unknown = 'recorder/import_statistics';
  await expect(run(at)).rejects.toThrow('too old for it: update Home Assistant');
  delete server.unknown;
  await run(at);
  expect(await at.ledger().runs()).toMatchObject([{ state: 'delivered', attempts: 3 }]);
});

test.runIf(isSoak)(
  'the delivery fails if a server sends nonsense or too much; a silent server does not block the end, and the run waits',
  async () => {
    const stop = new AbortController();
    const greetings: Array<(send: (text: string) => void) => void> = [
      (send) => send('<html>'),
      (send) => send(`"${'x'.repeat(64 * 1024 ** 2)}"`),
      () => stop.abort(new Error('the process ends')),
    ];
    const hostile = new WebSocketServer({ host: '127.0.0.1', port: 0 });
    onTestFinished(() => {
      for (const client of hostile.clients) client.terminate();
      hostile.close();
    });
    await new Promise<void>((resolve) => hostile.once('listening', resolve));
    hostile.on('connection', (socket) => {
      socket.on('error', () => {});
      greetings.shift()?.((text) => socket.send(text));
    });
    const { at } = await openHome(
      'Etc/UTC',
      `http://127.0.0.1:${(hostile.address() as { port: number }).port}`,
    );
    const attempt = () => at.exports.run('export1', { corrected: false }, stop.signal);
    await expect(attempt()).rejects.toThrow('something that is not understood');
    await expect(attempt()).rejects.toThrow(/not understood|has ended the connection/);
    await expect(attempt()).rejects.toThrow('the process ends');
    expect(await at.ledger().runs()).toMatchObject([{ state: 'waiting', attempts: 2 }]);
  },
);

test('an answer that is not understood changes no statistics', { tags: ['slow'] }, async () => {
  const { server, at } = await openHome();
  server.rows = { [id]: [{ start: 'yesterday', sum: 'much' }] };
  await expect(run(at)).rejects.toThrow('something that is not understood');
  server.rows = { [id]: [{ start: 8.64e15 + 3_600_000, end: 9e15, sum: 1e300, state: -1 }] };
  await run(at);
  expect(rowsOf(server)['2026-11-18T23:00:00.000Z']).toEqual({ state: 4, sum: 17.346 });
});

test('where days begin at half past an hour, a row is at the first full hour of its day', {
  tags: ['slow'],
}, async () => {
  const { server, at } = await openHome('Asia/Kolkata');
  await run(at);
  expect(Object.keys(rowsOf(server))[0]).toBe('2026-11-15T19:00:00.000Z');
});

test('ids have only what Home Assistant allows, and differ if names do', () => {
  const sources = ['pv', 'PV', 'p v', 'p__v', '_', 'ß', 'x'.repeat(128), `${'x'.repeat(127)}y`, null];
  const ids = sources.map((source) => energyStatisticId('my-home', roof, source));
  expect(new Set(ids).size).toBe(sources.length);
  for (const one of ids) {
    expect(one).toMatch(/^wattline:[a-z0-9]+(_[a-z0-9]+)*$/);
    expect(one.length).toBeLessThanOrEqual(255);
  }
});

test('the example of the page is a configuration, and its id is the id on the page', () => {
  const page = 'docs/home-assistant.md';
  const { workgroups, exports } = configSchema.parse(parse(blocksOf(page, 'yaml')[1]!));
  expect(exports[0]!.destination.homeAssistant).toBeDefined();
  const named = energyStatisticId(workgroups[0]!.id, workgroups[0]!.devices[0]!.id, 'pv');
  expect(pages.get(page)).toContain(`\`${named}\``);
});

test('only daily energy goes to Home Assistant', () => {
  const parsed = configSchema.safeParse({
    workgroups: [{ id: 'home' }],
    exports: [
      {
        ...{ id: 'ha', workgroup: 'home', report: 'device_daily_energy', range: 'yesterday', format: 'csv' },
        destination: { homeAssistant: { url: 'http://homeassistant.local:8123', token: 'a' } },
      },
    ],
  });
  expect(parsed.error?.issues).toMatchObject([
    { path: ['exports', 0, 'report'], message: 'must be daily_energy for Home Assistant' },
  ]);
});
