import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { telemetryBatch } from '../support/messages.ts';
import { connectTo } from '../support/socket-client.ts';
import { startStreamService } from '../support/stream-service.ts';

test('a subscription gets what is stored after it', async () => {
  const service = await startStreamService();
  const log = await service.stream.logOf('acme');
  await log.append(telemetryBatch(3));
  const client = await connectTo(service, { auth: { token: await service.token(), workgroupId: 'acme' } });
  const reader = client.subscribe({ requestId: randomUUID() });
  const answer = await reader.answer;
  expect(answer).toMatchObject({ nextOffset: String((await log.bounds()).next) });
  await log.append(telemetryBatch(2, { first: 100 }));
  await reader.until((messages) => messages.length === 2);
  expect(reader.messages.map((message) => message.msg_id)).toEqual([100, 101]);
});
