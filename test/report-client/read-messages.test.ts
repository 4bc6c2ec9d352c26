// @module-tag slow
import { expect, test } from 'vitest';
import { type MessageBatch, readMessages } from '../../src/report-client/read-messages.ts';
import { type StreamService, startStreamService } from '../support/stream-service.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';

const DEVICE = '11111111-2222-4333-8444-555555555555';

async function post(service: StreamService, values: number[]): Promise<void> {
  const answer = await service.call('/api/v1/tables/acme/solar/messages', {
    method: 'POST',
    token: await service.token(),
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(
      values.map((value) => ({ device: DEVICE, event_time: TEST_START_MS + value, data: { value } })),
    ),
  });
  expect(answer.status).toBe(200);
}

async function read(service: StreamService, from?: MessageBatch['position']): Promise<MessageBatch[]> {
  const token = await service.token();
  const options = { url: service.baseUrl, workgroup: 'acme', token, untilUpToDate: true };
  const batches: MessageBatch[] = [];
  for await (const batch of readMessages({ ...options, ...(from && { from }) })) batches.push(batch);
  return batches;
}

const valuesOf = (batches: readonly MessageBatch[]) =>
  batches.flatMap(({ messages }) =>
    messages.map((message) => (message.kind === 'telemetry' ? message.data.value : message.kind)),
  );

test('a program gets each message once and in order, and continues at its position', async () => {
  const service = await startStreamService();
  // A batch without messages would only wake the program.
  expect(await read(service)).toEqual([]);
  await post(service, [1, 2, 3]);
  const first = await read(service);
  expect(valuesOf(first)).toEqual([1, 2, 3]);
  const { position, upToDate } = first.at(-1)!;
  expect(upToDate).toBe(true);
  await post(service, [4]);
  expect(valuesOf(await read(service, position))).toEqual([4]);
});

test('a program learns of lost messages, even if no message follows them', async () => {
  const clock = createTestClock();
  const service = await startStreamService({ clock, retentionMs: 60_000 });
  await post(service, [1]);
  const { position } = (await read(service)).at(-1)!;
  await post(service, [2]);
  await clock.advance(10 * 60_000);
  const later = await read(service, position);
  expect(valuesOf(later)).toEqual([]);
  expect(later.map(({ gap }) => gap?.reason)).toEqual(['expired']);
});
