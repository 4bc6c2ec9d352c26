// @module-tag slow
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createStageProgress } from '../../jobs/stage-health.ts';
import { createRestSource } from '../../src/client/rest-source.ts';
import { limits } from '../../src/contract/wire-limits.ts';
import { TransientError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createPipeline } from '../../src/pipeline/pipeline.ts';
import { pollSlice } from '../../src/pipeline/poll-slice.ts';
import { tempDir } from '../support/temp-dir.ts';
import { answerOf, assignmentOf } from './answers.ts';

test('what has landed is reported, even if the next read fails', async () => {
  const pipeline = createPipeline({ logLevel: 'silent', logger: silentLogger });
  onTestFinished(pipeline.close);
  await pipeline.open(assignmentOf(tempDir()));
  const reported: Array<[messages: number, lag: number | undefined]> = [];
  let reads = 0;
  const slice = pollSlice({
    pipeline,
    source: {
      async fetch() {
        reads += 1;
        if (reads > 1) throw new TransientError('UpstreamFailed', 'the connection was reset');
        return { ...answerOf(0, 5), nextOffset: '5', upToDate: false, lagMessages: 3 };
      },
    },
    workgroupId: 'acme',
    signal: new AbortController().signal,
    waitSeconds: 0,
    onProgress: ({ messages, lagMessages }) => reported.push([messages, lagMessages]),
  });
  await expect(slice).rejects.toThrow('the connection was reset');
  expect(reported).toEqual([[5, 3]]);
  expect(await pipeline.run('acme', 'status', undefined)).toMatchObject({ messages: 5 });
});

test('no position is read twice if answers announce the next one', async () => {
  const pipeline = createPipeline({ logLevel: 'silent', logger: silentLogger });
  onTestFinished(pipeline.close);
  await pipeline.open(assignmentOf(tempDir()));
  const reads: number[] = [];
  const result = await pollSlice({
    pipeline,
    source: {
      async fetch({ ask }) {
        const first = ask.kind === 'offset' ? Number(ask.offset) : 0;
        reads.push(first);
        const upToDate = first === 25;
        return { ...answerOf(first, first + 5, upToDate), nextOffset: String(first + 5), upToDate };
      },
    },
    workgroupId: 'acme',
    signal: new AbortController().signal,
    waitSeconds: 0,
  });
  expect(reads).toEqual([0, 5, 10, 15, 20, 25]);
  expect(result).toMatchObject({ messages: 30, upToDate: true });
});

test('while the size of batches is reduced, each read uses the size that the pipeline has now', async () => {
  const pipeline = createPipeline({ logLevel: 'silent', logger: silentLogger });
  onTestFinished(pipeline.close);
  await pipeline.open(assignmentOf(tempDir()));
  // The sizes after a batch that failed: they grow again with each batch that lands.
  const sizes = [1, 4, 16];
  const read: Array<[first: number, messagesMax: number]> = [];
  const result = await pollSlice({
    pipeline: {
      ...pipeline,
      async run(workgroupId, operation, args) {
        const answer = await pipeline.run(workgroupId, operation, args);
        const messagesMax = operation === 'position' && sizes.shift();
        return messagesMax ? { ...answer, messagesMax } : answer;
      },
    },
    source: {
      async fetch({ ask, messagesMax = limits.messagesPerReadMax }) {
        const first = ask.kind === 'offset' ? Number(ask.offset) : 0;
        read.push([first, messagesMax]);
        const next = Math.min(first + messagesMax, 30);
        return { ...answerOf(first, next, next === 30), nextOffset: String(next), upToDate: next === 30 };
      },
    },
    workgroupId: 'acme',
    signal: new AbortController().signal,
    waitSeconds: 0,
  });
  expect(read).toEqual([
    [0, 1],
    [1, 4],
    [5, 16],
    [21, limits.messagesPerReadMax],
  ]);
  expect(result).toMatchObject({ messages: 30, upToDate: true });
});

test('a server that asks for a wait is not read earlier, however often it has failed', async () => {
  const server = createServer((_, response) => response.writeHead(503, { 'Retry-After': '50' }).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const pipeline = createPipeline({ logLevel: 'silent', logger: silentLogger });
  onTestFinished(pipeline.close);
  await pipeline.open(assignmentOf(tempDir()));
  const source = createRestSource({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    workgroup: 'acme',
    token: 'any',
  });
  onTestFinished(source.close);
  const paces = [{ stage: 'poll' as const, maxPeriodMs: 1_000 }];
  const waits: number[] = [];
  // From the seventh failure on the reader gives up at once.
  for (let run = 0; run < 8; run++) {
    const progress = createStageProgress(paces, {
      clock: { isSteady: true, now: () => 0 },
      timeLimitMs: () => 30_000,
    });
    progress.noteStarted('poll');
    const { signal } = new AbortController();
    const error = await pollSlice({ pipeline, source, waitSeconds: 0, workgroupId: 'acme', signal }).catch(
      (thrown) => thrown,
    );
    progress.noteFailed('poll', error);
    waits.push(progress.backOffMs('poll'));
  }
  expect(waits).toEqual(Array(8).fill(50_000));
});
