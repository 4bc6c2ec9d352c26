import { expect, onTestFinished, test } from 'vitest';
import { encodeCbor } from '../../src/contract/codec.ts';
import { SOCKET_PATH } from '../../src/contract/socket-events.ts';
import { readStatuses, type WorkgroupStatus } from '../../src/pipeline/status.ts';
import { startCuttingProxy } from '../support/cutting-proxy.ts';
import { createServiceProcess, queryLake, type ServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const MESSAGES = 200_000;
const BATCH = 1_000;
const DEVICE = '00000000-0000-4000-8000-000000000001';

/** A stream and a worker that reads it over a socket, each a process of its own, with a network between them. */
async function startPair() {
  const stream = await createServiceProcess({ logLevel: 'warn', workgroups: [{ id: 'plant' }] }, 'stream');
  await stream.start();
  const proxy = await startCuttingProxy(Number(new URL(stream.url).port));
  onTestFinished(proxy.close);
  const worker = await createServiceProcess(
    {
      logLevel: 'warn',
      pipeline: { rollupEvery: '2s', publishEvery: '1s' },
      workgroups: [
        {
          id: 'home',
          upstream: {
            url: `http://127.0.0.1:${proxy.port}`,
            workgroup: 'plant',
            token: stream.token,
            transport: 'socket',
          },
        },
      ],
    },
    'worker',
  );
  await worker.start();
  return { stream, proxy, worker };
}

/** Posts messages whose counter says which one they are, again and again until they are acknowledged. */
async function post(service: ServiceProcess, first: number, count: number): Promise<void> {
  for (let next = first; next < first + count; next += BATCH) {
    await postBatch(service, next, Math.min(BATCH, first + count - next));
  }
}

async function postBatch({ url, token }: ServiceProcess, first: number, count: number): Promise<void> {
  const body = encodeCbor(
    Array.from({ length: count }, (_, index) => ({
      device: DEVICE,
      source: 'pv',
      event_time: Date.UTC(2026, 0, 1) + (first + index) * 100,
      msg_id: first + index,
      data: { value: first + index },
    })),
  );
  await until('the messages are taken', async () => {
    const answer = await fetch(`${url}/api/v1/tables/plant/solar/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/cbor' },
      body,
    }).catch(() => undefined);
    await answer?.arrayBuffer();
    return answer?.status === 200;
  });
}

/** Starting a process takes long where many tests run at once. */
const START_MS = 60_000;

const pollOf = ({ config }: ServiceProcess): WorkgroupStatus['poll'] =>
  readStatuses(config.dataDir)[0]?.poll ?? {};

const COUNT = `SELECT count(*)::DOUBLE AS messages, count(DISTINCT message_id)::DOUBLE AS counters,
  count(DISTINCT stream_offset)::DOUBLE AS offsets FROM messages WHERE "table" = 'solar'`;

test(`${MESSAGES} messages read over a socket land exactly once, whatever is killed and cut meanwhile`, {
  timeout: 240_000,
}, async () => {
  const { stream, proxy, worker } = await startPair();
  const restart = async (victim: ServiceProcess) => {
    await victim.kill();
    await victim.start();
  };
  const cut = async () => {
    proxy.cut();
    proxy.mend();
  };
  const disturbances = [cut, () => restart(stream), cut, () => restart(worker), cut];
  const perRound = MESSAGES / disturbances.length;
  for (const [round, disturbance] of disturbances.entries()) {
    const sinceMs = Date.now();
    await until(
      'the worker reads',
      () => (pollOf(worker).lastSuccessAtMs ?? 0) > sinceMs && pollOf(worker).transport === 'socket',
      START_MS,
    );
    const first = round * perRound;
    await post(stream, first, perRound / 2);
    await Promise.all([disturbance(), post(stream, first + perRound / 2, perRound / 2)]);
  }

  let found: Record<string, unknown> | undefined;
  await until(
    'every message is in the lake',
    async () => {
      [found] = (await queryLake(worker.config, 'home', COUNT)) ?? [];
      return found?.counters === MESSAGES;
    },
    100_000,
  );
  // A batch whose acknowledgement was lost with the stream has been posted again: its offsets are others.
  expect(found?.offsets).toBe(found?.messages);
  const gaps = await queryLake(worker.config, 'home', 'SELECT reason FROM gap');
  expect(gaps).toEqual([]);
  expect(await worker.stop()).toBe(0);
});

test('where sockets are blocked REST goes on, and the socket is taken again once it can be had', {
  timeout: 120_000,
}, async () => {
  const { stream, proxy, worker } = await startPair();
  const landed = (count: number) => () => (pollOf(worker).messages ?? 0) >= count;
  await post(stream, 0, 100);
  await until('the first messages have landed', landed(100), START_MS);
  await until('they come over a socket', () => pollOf(worker).transport === 'socket');
  proxy.block(SOCKET_PATH);
  await post(stream, 100, 100);
  await until('the next have landed', landed(200));
  await until('they come over REST', () => pollOf(worker).transport === 'rest');
  proxy.mend();
  await until('there is a socket again', () => pollOf(worker).transport === 'socket', 60_000);
  await post(stream, 200, 100);
  await until('the last have landed', landed(300));
  await until(
    'every message is in the lake',
    async () => (await queryLake(worker.config, 'home', COUNT))?.[0]?.messages === 300,
    START_MS,
  );
});
