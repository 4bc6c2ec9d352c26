import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { decodeCbor } from '../../src/cbor/cbor-codec.ts';
import type { ReadBody } from '../../src/contract/messages.ts';
import { type Machine, setUpMachines } from '../support/machines.ts';
import { until } from '../support/until.ts';

const timeout = 240_000;
/** Long, because a busy machine can pause the sender for seconds. */
const TIMEOUT_MS = 15_000;
const [ROAMING, PROBE] = ['7c9e6679-7425-40de-944b-e07fc1f90ae7', '7c9e6679-7425-40de-944b-e07fc1f90ae8'];

test('a device that moves between machines is online once and offline once, even if the watching one is killed', {
  timeout,
}, async () => {
  const machines = await setUpMachines({
    logLevel: 'silent',
    stream: { log: 'redis', deviceTimeout: TIMEOUT_MS },
    workgroups: [{ id: 'home' }],
  });
  const one = await machines.add('one', 'stream');
  const other = await machines.add('other', 'stream');
  // The first one takes the lease.
  await one.start();
  await other.start();
  let sentAtMs = performance.now();
  let longestPauseMs = 0;
  const send = async (machine: Machine, device: string) => {
    const answer = await fetch(`${machine.url}/api/v1/tables/home/solar/messages`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${machine.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify([{ device, event_time: Date.now(), data: { power: 1 } }]),
    });
    expect(answer.status).toBe(200);
    if (device !== ROAMING) return;
    longestPauseMs = Math.max(longestPauseMs, performance.now() - sentAtMs);
    sentAtMs = performance.now();
  };
  const statuses = async (machine: Machine, device: string) => {
    const answer = await fetch(`${machine.url}/api/v1/tables/home/devices/latest?timestamp=0`, {
      headers: { Authorization: `Bearer ${machine.token}` },
    });
    const body = decodeCbor(Buffer.from(await answer.arrayBuffer())) as ReadBody;
    return body.messages.flatMap((message) =>
      'state' in message && message.device === device ? [message.state] : [],
    );
  };
  await send(one, ROAMING);
  await until('the first machine watches', async () => (await statuses(one, ROAMING)).length === 1);
  /** Sends to one machine and to the other, for longer than the time-out with each. */
  for (const machine of [other, one])
    for (const beganAtMs = performance.now(); performance.now() < beganAtMs + TIMEOUT_MS + 1_000; ) {
      await send(machine, ROAMING);
      await sleep(1_000);
    }
  // Otherwise the device was offline, rightly.
  expect(longestPauseMs, 'the longest pause of the sender').toBeLessThan(TIMEOUT_MS);
  expect(await statuses(other, ROAMING)).toEqual(['online']);

  await one.kill();
  await send(other, PROBE);
  await until('the other machine watches', async () => {
    await send(other, ROAMING);
    await sleep(500);
    return (await statuses(other, PROBE)).length > 0;
  });
  await until('the device is offline', async () => (await statuses(other, ROAMING)).length > 1);
  await sleep(2_000);
  expect(await statuses(other, ROAMING)).toEqual(['online', 'offline']);
});
