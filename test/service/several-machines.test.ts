import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { decodeCbor } from '../../src/cbor/cbor-codec.ts';
import type { ReadBody } from '../../src/contract/messages.ts';
import { setUpMachines } from '../support/machines.ts';
import { connectTo } from '../support/socket-client.ts';
import { until } from '../support/until.ts';
import { DEVICE, machineConfig } from './machine-config.ts';

const timeout = 240_000;

test('a token that is revoked on one machine gets nothing more on another one', {
  timeout,
}, async () => {
  const machines = await setUpMachines(machineConfig);
  const one = await machines.add('one', 'stream');
  const other = await machines.add('other', 'stream');
  await Promise.all([one.start(), other.start()]);
  const url = `${other.url}/api/v1/tables/home/solar`;
  const write = async (total_wh: number) => {
    const answer = await fetch(`${one.url}/api/v1/tables/home/solar/messages`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${one.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify([{ device: DEVICE, event_time: Date.now(), data: { total_wh } }]),
    });
    expect(answer.status).toBe(200);
  };
  await write(1);
  // Issued and revoked where no other machine sees it, by a command that ends.
  const created = await one.run('token', 'create', 'reader', '--workgroup', 'home', '--json');
  const { token, tokenId } = JSON.parse(created.stdout);
  const headers = { Authorization: `Bearer ${token}` };
  const client = await connectTo({ baseUrl: other.url }, { auth: { token, workgroupId: 'home' } });
  const reader = client.subscribe({ requestId: randomUUID(), table: 'solar', timestamp: 0 });
  await reader.until((messages) => messages.length === 1);
  /** Reads on until a read is refused, and is held most of the time. */
  async function readOn(hasRead: () => void): Promise<{ status: number; messages: number }> {
    let from = '';
    for (let messages = 0; ; ) {
      const answer = await fetch(`${url}/latest${from}`, { headers: { ...headers, Prefer: 'wait=20' } });
      if (answer.status !== 200) return { status: answer.status, messages };
      const body = decodeCbor(Buffer.from(await answer.arrayBuffer())) as ReadBody;
      messages += body.count;
      if (messages > 0) hasRead();
      from = `?offset=${body.nextOffset}`;
    }
  }
  const { promise: hasRead, resolve } = Promise.withResolvers<void>();
  const held = readOn(resolve);
  // An answer with messages comes a second after the last one.
  await hasRead;

  expect((await one.run('token', 'revoke', tokenId)).code).toBe(0);
  await until('the other machine refuses it', async () => {
    return (await fetch(`${url}/latest`, { headers: { ...headers, Prefer: 'wait=0' } })).status === 401;
  });
  await write(2);
  expect(await held).toEqual({ status: 401, messages: 1 });
  expect(await reader.stopped).toMatchObject({ reason: 'token_expired' });
  expect(reader.messages).toHaveLength(1);
});
