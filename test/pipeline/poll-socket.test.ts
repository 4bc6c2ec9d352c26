// @module-tag slow
import { expect, onTestFinished, test } from 'vitest';
import { createSocketSource, type SocketSource } from '../../src/client/socket-source.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createPipeline, type Pipeline } from '../../src/pipeline/pipeline.ts';
import { type PollResult, pollSlice } from '../../src/pipeline/poll-slice.ts';
import { type StreamService, startStreamService } from '../support/stream-service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';
import { assignmentOf } from './answers.ts';

async function startReading(
  options: Parameters<typeof startStreamService>[0] = {},
): Promise<{ service: StreamService; pipeline: Pipeline; source: SocketSource }> {
  const service = await startStreamService(options);
  const pipeline = createPipeline({ logLevel: 'silent', logger: silentLogger });
  await pipeline.open(assignmentOf(tempDir()));
  const source = createSocketSource({
    url: service.baseUrl,
    workgroup: 'acme',
    token: await service.token(),
    logger: silentLogger,
  });
  onTestFinished(async () => {
    await source.close();
    await pipeline.close();
  });
  return { service, pipeline, source };
}

async function post(service: StreamService, count: number): Promise<void> {
  const items = Array.from({ length: count }, (_, index) => ({
    device: '11111111-2222-4333-8444-555555555555',
    event_time: 1_760_000_000_000 + index,
    data: { value: index },
  }));
  const answer = await service.call('/api/v1/tables/acme/solar/messages', {
    method: 'POST',
    token: await service.token(),
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(items),
  });
  expect(answer.status).toBe(200);
}

test('a slice with a socket stays at the head, lands new messages at once, and ends when it is aborted', async () => {
  // A timer of the server and the end of a wait bring no message.
  const clock = createTestClock();
  const { service, pipeline, source } = await startReading({ clock, socketTimer: clock.startTimer });
  await post(service, 2_500);
  const stopping = new AbortController();
  let progress: PollResult | undefined;
  const slice = pollSlice({
    pipeline,
    source,
    workgroupId: 'acme',
    signal: stopping.signal,
    waitSeconds: 3_600,
    onProgress: (result) => {
      progress = { ...result };
    },
  });
  const ended = expect(slice).rejects.toThrow('the worker stops');
  await until('it is at the head', () => progress?.messages === 2_500 && progress.upToDate);
  for (let posted = 2_501; posted <= 2_515; posted += 1) {
    await post(service, 1);
    await until('it has landed', () => progress?.messages === posted);
  }
  stopping.abort(new Error('the worker stops'));
  await ended;
  expect(await pipeline.run('acme', 'status', undefined)).toMatchObject({ messages: 2_515 });
});

test('the next slice continues the same subscription at the checkpoint', async () => {
  const { service, pipeline, source } = await startReading();
  for (const round of [1, 2]) {
    await post(service, 10);
    const stopping = new AbortController();
    const onProgress = ({ messages }: PollResult) => messages === 10 && stopping.abort(new Error('enough'));
    await expect(
      pollSlice({
        ...{ pipeline, source, waitSeconds: 1 },
        workgroupId: 'acme',
        signal: stopping.signal,
        onProgress,
      }),
    ).rejects.toThrow('enough');
    expect(await pipeline.run('acme', 'status', undefined)).toMatchObject({ messages: 10 * round });
    expect(service.socket.counts()).toMatchObject({ sockets: 1, subscriptions: 1 });
  }
});

test('a warehouse that was opened anew is read to from its own checkpoint', async () => {
  const { service, pipeline, source } = await startReading();
  await post(service, 10);
  const read = async (count: number) => {
    const stopping = new AbortController();
    const onProgress = ({ messages }: PollResult) =>
      messages === count && stopping.abort(new Error('enough'));
    await expect(
      pollSlice({
        ...{ pipeline, source, waitSeconds: 1 },
        workgroupId: 'acme',
        signal: stopping.signal,
        onProgress,
      }),
    ).rejects.toThrow('enough');
  };
  await read(10);
  // Another folder, so another checkpoint: none.
  await pipeline.open(assignmentOf(tempDir()));
  await post(service, 5);
  await read(15);
  expect(await pipeline.run('acme', 'status', undefined)).toMatchObject({ messages: 15 });
});
