import { expect, onTestFinished, test } from 'vitest';
import { decodeCbor } from '../../../src/cbor/cbor-codec.ts';
import type { ConfigInput } from '../../../src/config/config.ts';
import type { ReadBody } from '../../../src/contract/messages.ts';
import { telemetry } from '../../support/messages.ts';
import { startRedis } from '../../support/redis.ts';
import { identitiesOf } from '../../support/redis-log.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';
import { createUpProcess, type ServiceProcess } from '../../support/up-process.ts';

const ITEMS_PER_REQUEST = 5;

test('two stream processes serve one stream, each with the messages of the other at once, and survive the end of the other and of Redis', async () => {
  const redis = await startRedis({ appendonly: 'yes', appendfsync: 'always' });
  onTestFinished(redis.stop);
  const input = {
    dataDir: tempDir(),
    stream: { log: 'redis', redisUrl: redis.url },
    workgroups: [{ id: 'acme' }],
  } satisfies ConfigInput;
  const [a, b] = [
    await createUpProcess(tempDir(), input, 'stream'),
    await createUpProcess(tempDir(), input, 'stream'),
  ];
  onTestFinished(async () => void (await Promise.all([a.kill(), b.kill()])));
  await Promise.all([a.start(), b.start()]);

  const { nextOffset } = await read(b, '', 0);
  const held = read(b, `?offset=${nextOffset}&limit=${ITEMS_PER_REQUEST}`, 20);
  expect(await send(a, 999_000)).toBe(true);
  expect((await held).messages.map((message) => 'msg_id' in message && message.msg_id)).toEqual(
    Array.from({ length: ITEMS_PER_REQUEST }, (_, index) => 999_000 + index),
  );

  const acknowledged = new Set<number>();
  const refused = new Set<number>();
  let isDone = false;
  let allSent = false;
  const writers = [a, b].map(async (service, writer) => {
    for (let round = 0; !isDone; round++) {
      const first = writer * 100_000 + round * 10;
      const isStored = await send(service, first).catch(() => false);
      if (isStored) for (let index = 0; index < ITEMS_PER_REQUEST; index++) acknowledged.add(first + index);
      else refused.add(first);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  });
  const followed: string[] = [];
  const follower = (async () => {
    let offset = nextOffset;
    for (;;) {
      const isFinished = allSent;
      const body = await read(b, `?offset=${offset}`, 1);
      followed.push(...identitiesOf(body.messages as Message[]));
      offset = body.nextOffset;
      if (isFinished && body.upToDate) return;
    }
  })();
  await until('both take messages', () => acknowledged.size > 100);
  await a.kill();
  const before = acknowledged.size;
  await until('the other goes on', () => acknowledged.size > before + 100 && refused.size > 0);
  await a.start();
  isDone = true;
  await Promise.all(writers);
  allSent = true;
  await follower;

  const all = await Promise.all([a, b].map(async (service) => await readAll(service)));
  expect(all[1]).toEqual(all[0]);
  expect(followed).toEqual(all[0]);
  const stored = all[0]!.map((identity) => Number(identity.split(' ')[1]));
  expect(new Set(stored).size).toBe(stored.length);
  expect([...acknowledged].filter((number) => !stored.includes(number))).toEqual([]);

  await redis.restart({
    async whileDown() {
      await until('it is noticed', async () => (await fetch(`${b.url}/ready`)).status === 503);
      const headers = { authorization: `Bearer ${b.token}`, 'content-type': 'application/json' };
      const url = `${b.url}/api/v1/tables/acme/solar`;
      for (const answer of [
        await fetch(`${url}/latest`, { headers }),
        await fetch(`${url}/messages`, { headers, method: 'POST', body: JSON.stringify(telemetry(1)) }),
      ])
        expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
      const told = refusalsTold(b);
      await Promise.all(Array.from({ length: 100 }, (_, index) => send(b, 1_000_000 + index * 10)));
      expect(refusalsTold(b) - told).toBeLessThan(10);
    },
  });
  await until('it is ready again', async () => (await fetch(`${b.url}/ready`)).ok);
  expect(await readAll(b)).toEqual(all[0]);
  expect(await b.stop()).toBe(0);
});

const refusalsTold = (service: ServiceProcess) =>
  service.errorText().match(/"(stream\.append-failed|http\.unavailable)"/g)?.length ?? 0;

interface Message {
  offset: bigint | number;
  msg_id?: number;
}

async function send(service: ServiceProcess, first: number): Promise<boolean> {
  const answer = await fetch(`${service.url}/api/v1/tables/acme/solar/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(telemetry(ITEMS_PER_REQUEST, { first })),
  });
  await answer.arrayBuffer();
  return answer.ok;
}

async function read(service: ServiceProcess, query: string, waitSeconds: number): Promise<ReadBody> {
  const answer = await fetch(`${service.url}/api/v1/tables/acme/solar/latest${query}`, {
    headers: { authorization: `Bearer ${service.token}`, prefer: `wait=${waitSeconds}` },
  });
  const body = decodeCbor(new Uint8Array(await answer.arrayBuffer()));
  expect([answer.status, body]).toMatchObject([200, {}]);
  return body as ReadBody;
}

async function readAll(service: ServiceProcess): Promise<string[]> {
  const identities: string[] = [];
  let query = '';
  for (;;) {
    const body = await read(service, query, 0);
    identities.push(...identitiesOf(body.messages as Message[]));
    if (body.upToDate) return identities;
    query = `?offset=${body.nextOffset}`;
  }
}
