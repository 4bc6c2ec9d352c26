import { expect, onTestFinished, test } from 'vitest';
import { encodeCbor } from '../../src/cbor/cbor-codec.ts';
import { SOCKET_PATH } from '../../src/contract/socket-events.ts';
import { readStatuses, type WorkgroupStatus } from '../../src/pipeline/workgroup-status.ts';
import { startCuttingProxy } from '../support/cutting-proxy.ts';
import { rounds } from '../support/rounds.ts';
import { createServiceProcess, queryLake, type ServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const MESSAGES = rounds(4_000, 200_000);
const BATCH = rounds(250, 1_000);
const DEVICE = '00000000-0000-4000-8000-000000000001';

/**
 * A stream and a worker that reads it over a socket, each a separate process, with a network between them.
 */
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

/** Posts messages again and again until they are acknowledged. A counter identifies each one. */
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

test(`${MESSAGES} messages read over a socket land exactly once, whatever is killed, cut and blocked meanwhile`, {
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
  const block = async () => {
    proxy.block(SOCKET_PATH);
    await until('REST goes on', () => pollOf(worker).transport === 'rest', START_MS);
  };
  const disturbances = [cut, () => restart(stream), () => restart(worker), block];
  const perRound = MESSAGES / disturbances.length;
  const socketIsRead = async () => {
    const sinceMs = Date.now();
    const isRead = ({ transport, lastSuccessAtMs = 0 }: WorkgroupStatus['poll']) =>
      transport === 'socket' && lastSuccessAtMs > sinceMs;
    await until('the socket is read', () => isRead(pollOf(worker)), START_MS);
  };
  for (const [round, disturbance] of disturbances.entries()) {
    await socketIsRead();
    const first = round * perRound;
    await post(stream, first, perRound / 2);
    await Promise.all([disturbance(), post(stream, first + perRound / 2, perRound / 2)]);
  }
  proxy.mend();
  await socketIsRead();

  let found: Record<string, unknown> | undefined;
  await until(
    'every message is in the lake',
    async () => {
      [found] = (await queryLake(worker.config, 'home', COUNT)) ?? [];
      return found?.counters === MESSAGES;
    },
    100_000,
  );
  // A batch whose acknowledgement was lost with the stream has been posted again: its offsets are different.
  expect(found?.offsets).toBe(found?.messages);
  const gaps = await queryLake(worker.config, 'home', 'SELECT reason FROM gap');
  expect(gaps).toEqual([]);
  expect(await worker.stop()).toBe(0);
});
