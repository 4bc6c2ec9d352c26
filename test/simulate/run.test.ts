import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { encodeCbor } from '../../src/cbor/cbor-codec.ts';
import type { Waiting } from '../../src/client/backoff.ts';
import { DAY_MS, dayStart, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/lib/time.ts';
import { createSite, type Site } from '../../src/simulate/create-site.ts';
import { runSimulation } from '../../src/simulate/run-simulation.ts';

const closing: Array<() => Promise<void>> = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Ingested {
  table: string;
  items: Array<{ event_time: number }>;
  authorization: string | undefined;
  atMs: number;
}

/** An ingest endpoint that stores the accepted messages. It first gives `answers`, one for each request. */
async function startIngest(now: () => number, answers: Array<(response: ServerResponse) => void> = []) {
  const ingested: Ingested[] = [];
  const server = createServer(async (request, response) => {
    const items = (await json(request)) as Ingested['items'];
    const answer = answers.shift();
    if (answer) return answer(response);
    const table =
      /^\/api\/v1\/tables\/acme\/(\w+)\/messages$/.exec(request.url ?? '')?.[1] ?? request.url ?? '';
    ingested.push({ table, items, authorization: request.headers.authorization, atMs: now() });
    response
      .writeHead(200, { 'content-type': 'application/cbor' })
      .end(encodeCbor({ accepted: items.length }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ingested };
}

/** A clock that moves only during sleeps. */
function fakeTime(startMs: number): Waiting & { sleptMs: number[] } {
  let nowMs = startMs;
  const sleptMs: number[] = [];
  return {
    sleptMs,
    clock: { now: () => nowMs },
    random: () => 0.5,
    sleep: async (ms) => {
      sleptMs.push(ms);
      nowMs += ms;
    },
  };
}

const startMs = dayStart('2026-06-10', 'Europe/Paris');
function siteOf(): Site {
  return createSite({ seed: 3, timezone: 'Europe/Paris', startMs, readingEveryMs: 5 * MINUTE_MS });
}
function expected(untilMs: number): number {
  return siteOf().arrivals(startMs, untilMs).length;
}

test('a past day is sent in the given seconds, whole and to the right tables', {
  tags: ['slow'],
}, async () => {
  const waiting = fakeTime(startMs + DAY_MS + 9 * HOUR_MS);
  const begunMs = waiting.clock.now();
  const { url, ingested } = await startIngest(waiting.clock.now);
  const untilMs = startMs + DAY_MS;
  const report = await runSimulation({
    site: siteOf(),
    url,
    workgroup: 'acme',
    token: 'secret',
    speed: DAY_MS / (20 * SECOND_MS),
    untilMs,
    waiting,
  });
  expect(waiting.clock.now() - begunMs).toBe(20 * SECOND_MS);
  expect(report).toMatchObject({ items: expected(untilMs), retries: 0, simulatedUntilMs: untilMs });
  expect(Object.keys(report.itemsByTable).sort()).toEqual(['battery', 'devices', 'grid', 'solar']);
  for (const [table, items] of Object.entries(report.itemsByTable)) {
    const sent = ingested.filter((request) => request.table === table).flatMap((request) => request.items);
    expect(sent).toHaveLength(items);
    expect(sent).toEqual(
      siteOf()
        .arrivals(startMs, untilMs)
        .filter((arrival) => arrival.table === table)
        .map(({ item }) => item),
    );
  }
  expect(new Set(ingested.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer secret']));
});

test.each([40, Number.POSITIVE_INFINITY])(
  'having caught up at speed %d it keeps to the clock: nothing is sent before its time',
  async (speed) => {
    const waiting = fakeTime(startMs + 6 * HOUR_MS);
    const { url, ingested } = await startIngest(waiting.clock.now);
    const untilMs = startMs + 8 * HOUR_MS;
    await runSimulation({
      site: siteOf(),
      url,
      workgroup: 'acme',
      token: 't',
      speed,
      untilMs,
      waiting,
      sendEveryMs: MINUTE_MS,
    });
    expect(waiting.clock.now()).toBe(untilMs);
    expect(ingested.flatMap(({ items }) => items)).toHaveLength(expected(untilMs));
    for (const { items, atMs } of ingested) {
      for (const { event_time } of items) expect(event_time).toBeLessThan(atMs);
    }
  },
);

test('a busy server is asked again when it allows, and nothing is lost', async () => {
  const waiting = fakeTime(startMs + 2 * DAY_MS);
  const { url, ingested } = await startIngest(waiting.clock.now, [
    (response) => response.writeHead(503, { 'retry-after': '4' }).end(),
    (response) => response.writeHead(429).end(),
    (response) => response.writeHead(408).end(),
    (response) => response.writeHead(500).end(),
    (response) => response.destroy(),
  ]);
  const untilMs = startMs + 12 * HOUR_MS;
  const report = await runSimulation({
    site: siteOf(),
    url,
    workgroup: 'acme',
    token: 't',
    speed: Number.POSITIVE_INFINITY,
    untilMs,
    waiting,
    itemsPerRequestMax: 100,
  });
  expect(report.retries).toBe(5);
  expect(waiting.sleptMs[0]).toBeGreaterThanOrEqual(4_000);
  expect(ingested.flatMap(({ items }) => items)).toHaveLength(expected(untilMs));
  expect(Math.max(...ingested.map(({ items }) => items.length))).toBe(100);
});

test('a refusal ends it with the error of the server', async () => {
  const waiting = fakeTime(startMs + 2 * DAY_MS);
  const { url } = await startIngest(waiting.clock.now, [
    (response) =>
      response
        .writeHead(403)
        .end(encodeCbor({ error: 'InsufficientScope', message: 'data:write is needed' })),
  ]);
  const running = runSimulation({
    site: siteOf(),
    url,
    workgroup: 'acme',
    token: 't',
    speed: Number.POSITIVE_INFINITY,
    waiting,
  });
  await expect(running).rejects.toMatchObject({
    code: 'IngestRefused',
    message: expect.stringContaining('data:write is needed'),
  });
});

test('an abort ends it with the counts so far', async () => {
  const controller = new AbortController();
  const waiting = fakeTime(startMs + 2 * DAY_MS);
  const { url, ingested } = await startIngest(waiting.clock.now);
  const report = await runSimulation({
    site: siteOf(),
    url,
    workgroup: 'acme',
    token: 't',
    speed: 3_600,
    signal: controller.signal,
    waiting: {
      ...waiting,
      sleep: async (ms, signal) => {
        await waiting.sleep(ms);
        if (waiting.sleptMs.length === 10) controller.abort();
        signal?.throwIfAborted();
      },
    },
  });
  expect(report.items).toBeGreaterThan(0);
  expect(report.items).toBe(ingested.flatMap(({ items }) => items).length);
});
