import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { type Clock, SECOND_MS, systemClock } from '../../src/lib/time.ts';
import { createPipeline, type Pipeline } from '../../src/pipeline/pipeline.ts';
import { createPipelineStages, type PipelineStagesOptions } from '../../src/pipeline/pipeline-stages.ts';
import { createStatusBook } from '../../src/pipeline/workgroup-status.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';
import { answerOf, assignmentOf } from './answers.ts';

/** The stages of the workgroup `acme`. */
function stagesOf(
  options: Pick<PipelineStagesOptions, 'hasNews'> & { run?: Pipeline['run']; url?: string; clock?: Clock },
) {
  const { run, url = 'http://127.0.0.1:1', clock = systemClock, ...rest } = options;
  const dataDir = tempDir();
  const config = configSchema.parse({ dataDir, workgroups: [{ id: 'acme' }] });
  const status = createStatusBook({ dataDir, clock, logger: silentLogger });
  const pipeline = createPipeline({ logLevel: 'silent', logger: silentLogger });
  onTestFinished(pipeline.close);
  const stages = createPipelineStages({
    ...rest,
    config,
    workgroups: createWorkgroups(config),
    pipeline: { ...pipeline, ...(run && { run }) },
    status,
    clock,
    logger: silentLogger,
    upstreamOf: () => ({ url, workgroup: 'acme', table: '-', transport: 'rest' }),
  });
  onTestFinished(() => stages.close());
  return { stages, status, pipeline, dataDir };
}

/** Stages of which each roll-up takes 4 s. @param calls after which nothing is left */
function stagesOfSlowRollUps(calls: number) {
  const clock = createTestClock();
  let batchId = 0;
  const run = async () => {
    clock.leap(4 * SECOND_MS);
    batchId += 1;
    return { batchId: BigInt(batchId), readings: 10, rejected: 1, days: 2, more: batchId < calls };
  };
  const { stages, status } = stagesOf({ run: run as Pipeline['run'], clock });
  return { status, rollUp: (signal = new AbortController().signal) => stages.rollup('acme', signal) };
}

test('a run of the roll-up begins no call after 10 s, leaves the rest to the next run, and adds up its counts', async () => {
  const { status, rollUp } = stagesOfSlowRollUps(5);
  expect(await rollUp()).toEqual({ more: true, counts: { readings: 30, rejected: 3, days: 6 } });
  expect(await rollUp()).toEqual({ more: false, counts: { readings: 20, rejected: 2, days: 4 } });
  expect(status.of('acme').rollup).toMatchObject({ batchId: '5', rejected: 5 });
});

test('a run of the roll-up that is stopped begins no call', async () => {
  const { rollUp } = stagesOfSlowRollUps(5);
  expect(await rollUp(AbortSignal.abort())).toMatchObject({ counts: { readings: 0 } });
});

test('the status counts the messages of all reads', { tags: ['slow'] }, async () => {
  const server = createServer(({ url }, response) => {
    const offset = Number(new URL(url!, 'http://a').searchParams.get('offset') ?? 0);
    const { contentType, bytes } = answerOf(offset, offset === 0 ? 3 : 5, offset > 0);
    response.setHeader('content-type', contentType).end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { stages, status, pipeline, dataDir } = stagesOf({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
  await pipeline.open(assignmentOf(dataDir));
  await stages.poll('acme', new AbortController().signal);
  expect(status.of('acme').poll).toMatchObject({ messages: 5, nextOffset: '5' });
});

test('a read at the end of the stream waits a second, unless the worker is told of news', {
  tags: ['slow'],
}, async () => {
  const asked: unknown[] = [];
  const server = createServer(({ headers }, response) => {
    asked.push(headers.prefer);
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const isTold of [false, true]) {
    const { stages, pipeline, dataDir } = stagesOf({ url, hasNews: () => isTold });
    await pipeline.open(assignmentOf(dataDir));
    await expect(stages.poll('acme', new AbortController().signal)).rejects.toThrow('404');
  }
  expect(asked).toEqual(['wait=1', 'wait=0']);
});
