import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { decodeCbor } from '../../../src/cbor/cbor-codec.ts';
import type { ReadBody } from '../../../src/contract/messages.ts';
import { telemetry } from '../../support/messages.ts';
import { startRedis } from '../../support/redis.ts';
import { createServiceProcess, queryLake, type ServiceProcess } from '../../support/service-process.ts';
import { connectTo } from '../../support/socket-client.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';

const ROWS = `SELECT message_id::DOUBLE AS number, count(*)::DOUBLE AS times FROM messages
  WHERE "table" = 'solar' GROUP BY ALL ORDER BY number`;

test('when a replica that was behind takes over without a running process, every reader gets the news and our worker lands each message once', async () => {
  const settings = { appendonly: 'yes', appendfsync: 'always' };
  const master = await startRedis({ ...settings, 'repl-diskless-sync-delay': '0' });
  onTestFinished(master.stop);
  const replica = await startRedis({ ...settings, replicaof: `127.0.0.1 ${master.port}` });
  onTestFinished(replica.stop);
  const follower = new Redis(replica.url);
  onTestFinished(() => follower.disconnect());
  const dataDir = tempDir();
  const upWith = (redisUrl: string) =>
    createServiceProcess({
      dataDir,
      stream: { log: 'redis', redisUrl },
      pipeline: { pollEvery: '200ms', rollupEvery: '200ms', publishEvery: '200ms' },
      workgroups: [{ id: 'acme' }],
    });
  const landedOnce = (service: ServiceProcess, numbers: readonly number[]) =>
    until(
      `${numbers.length} messages are landed`,
      // Polling rarely, because a look costs as much CPU as the work it waits for.
      () => sleep(200).then(async () => (await landed(service)).length >= numbers.length),
    ).then(async () =>
      expect(await landed(service)).toEqual(numbers.map((number) => ({ number, times: 1 }))),
    );

  const before = await upWith(master.url);
  await before.start();
  const { epoch } = await read(before, '');
  const kept = await send(before, 0, 10);
  await until('the replica has them', async () => Number(await follower.dbsize()) > 3);
  await until('the replica has all', async () =>
    /master_link_status:up/.test(await follower.info('replication')),
  );
  await follower.replicaof('127.0.0.1', '1');
  const lost = await send(before, 100, 10);
  await landedOnce(before, [...range(0, 10), ...range(100, 110)]);
  await before.kill();
  await master.stop();
  await follower.replicaof('NO', 'ONE');

  const after = await upWith(replica.url);
  await after.start();
  const gone = await send(after, 200, 30);
  expect(gone.firstOffset).toBeGreaterThan(lost.lastOffset);
  const positions = { behind: kept.firstOffset + 4n, at: kept.lastOffset + 1n, beyond: lost.lastOffset + 1n };
  const { socket, subscribe } = await connectTo(
    { baseUrl: after.url },
    { auth: { token: after.token, workgroupId: 'acme' } },
  );
  onTestFinished(() => void socket.disconnect());
  const told = new Set<string>();
  for (const [name, offset] of Object.entries(positions)) {
    const answer = await subscribe({ requestId: randomUUID(), offset: String(offset) }).answer;
    expect([name, answer]).toEqual([
      name,
      expect.objectContaining({ epoch: expect.not.stringMatching(epoch) }),
    ]);
    const body = await read(after, `?offset=${offset}`);
    expect([name, body.epoch]).toEqual([name, answer.epoch]);
    told.add(body.epoch);
  }
  expect(told.size).toBe(1);
  await landedOnce(after, [...range(0, 10), ...range(100, 110), ...range(200, 230)]);
});

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);

async function landed({ config }: ServiceProcess) {
  return (await queryLake(config, 'acme', ROWS)) ?? [];
}

async function send(service: ServiceProcess, first: number, count: number) {
  const answer = await fetch(`${service.url}/api/v1/tables/acme/solar/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(telemetry(count, { first })),
  });
  const body = decodeCbor(new Uint8Array(await answer.arrayBuffer())) as Record<string, bigint>;
  expect([answer.status, body, service.errorText()]).toMatchObject([
    200,
    { accepted: count },
    expect.anything(),
  ]);
  return { firstOffset: BigInt(body.firstOffset!), lastOffset: BigInt(body.lastOffset!) };
}

async function read(service: ServiceProcess, query: string): Promise<ReadBody> {
  const answer = await fetch(`${service.url}/api/v1/tables/acme/solar/latest${query}`, {
    headers: { authorization: `Bearer ${service.token}`, prefer: 'wait=0' },
  });
  return decodeCbor(new Uint8Array(await answer.arrayBuffer())) as ReadBody;
}
