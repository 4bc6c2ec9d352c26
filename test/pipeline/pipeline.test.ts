// @module-tag slow
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Ask } from '../../src/client/position.ts';
import { TerminalError, TransientError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createPipeline, type Pipeline } from '../../src/pipeline/pipeline.ts';
import { isSoak } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { landedOffsets, openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { answerOf, assignmentOf, rawAnswer } from './answers.ts';

function startPipeline(): Pipeline {
  const pipeline = createPipeline({ logLevel: 'silent', logger: silentLogger });
  onTestFinished(() => pipeline.close());
  return pipeline;
}

let shared: Pipeline | undefined;
/**
 * The thread of most tests: starting one loads all modules again. Each test has the workgroup with a separate
 * folder.
 */
async function openShared(dataDir = tempDir(), workgroups = ['acme']): Promise<Pipeline> {
  shared ??= createPipeline({ logLevel: 'silent', logger: silentLogger });
  const pipeline = shared;
  onTestFinished(async () => {
    for (const id of workgroups) await pipeline.closeShard(id).catch(() => undefined);
  });
  await Promise.all(workgroups.map((id) => pipeline.open(assignmentOf(dataDir, id))));
  return pipeline;
}
afterAll(() => shared?.close());

const at = (offset: number): Ask => ({ kind: 'offset', offset: BigInt(offset) });
const oldest: Ask = { kind: 'oldest' };
const warehouseOf = (dataDir: string) => join(dataDir, 'warehouse', 'acme.duckdb');

function land(pipeline: Pipeline, ask: Ask, answer = answerOf(0, 10)) {
  return pipeline.run('acme', 'land', { ask, answer }, [answer.bytes.buffer]);
}

test('answers are decoded and landed in the thread, and their bytes move there', async () => {
  const dataDir = tempDir();
  const pipeline = startPipeline();
  expect(await pipeline.open(assignmentOf(dataDir))).toEqual({ epoch: 1n });
  expect(await pipeline.run('acme', 'position', undefined)).toMatchObject({ ask: oldest });
  const answer = answerOf(0, 1_000);
  const landing = land(pipeline, oldest, answer);
  expect(answer.bytes.byteLength).toBe(0);
  expect(await landing).toMatchObject({
    kind: 'delivered',
    messages: 1_000,
    upToDate: false,
    position: { ask: at(1_000) },
  });
  expect(await pipeline.run('acme', 'status', undefined)).toMatchObject({ messages: 1_000, names: 5 });

  await pipeline.close();
  const shard = await openTestShard({ path: warehouseOf(dataDir) });
  expect(await landedOffsets(shard)).toHaveLength(1_000);
  const [row] = await rowsOf(shard, `SELECT numbers, other FROM message WHERE stream_offset = 7`);
  expect(row).toMatchObject({ other: '{"state":"run"}' });
});

test('answers that are handed over without a pause land in their order, once', async () => {
  const pipeline = await openShared();
  const replies = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      land(pipeline, index === 0 ? oldest : at(index * 100), answerOf(index * 100, (index + 1) * 100)),
    ),
  );
  for (const reply of replies) expect(reply).toMatchObject({ kind: 'delivered', messages: 100 });
  // An answer to a position that the reader has left does not land again.
  expect(await land(pipeline, at(300), answerOf(300, 400))).toMatchObject({
    kind: 'old-position',
    position: { ask: at(1_200) },
  });
  expect(await pipeline.run('acme', 'status', undefined)).toMatchObject({ messages: 1_200 });
});

test.runIf(isSoak)(
  'after a restart of the thread a reader continues at the checkpoint of the warehouse',
  async () => {
    const dataDir = tempDir();
    const pipeline = startPipeline();
    await pipeline.open(assignmentOf(dataDir));
    await land(pipeline, oldest, answerOf(0, 50));
    await pipeline.close();
    expect(await pipeline.open(assignmentOf(dataDir))).toEqual({ epoch: 2n });
    expect(await pipeline.run('acme', 'position', undefined)).toMatchObject({
      ask: at(50),
    });
  },
);

test('an answer that cannot be read moves no checkpoint and reports if a retry can help', async () => {
  const pipeline = await openShared();
  await land(pipeline, oldest, answerOf(0, 50));
  const cut = answerOf(50, 60);
  const half = { ...cut, bytes: cut.bytes.slice(0, cut.bytes.length / 2) };
  expect(await land(pipeline, at(50), half)).toMatchObject({ kind: 'again', position: { ask: at(50) } });
  const refused = rawAnswer(
    '{"error":"InvalidToken","message":"no","status":401,"retryable":false}',
    'application/json',
    401,
  );
  expect(await land(pipeline, at(50), refused)).toMatchObject({
    kind: 'fail',
    code: 'InvalidToken',
    retryable: false,
  });
  expect(await land(pipeline, at(50), answerOf(50, 60))).toMatchObject({ kind: 'delivered', messages: 10 });
});

test('workgroups share the thread and nothing else', async () => {
  const pipeline = await openShared(tempDir(), ['acme', 'globex']);
  await land(pipeline, oldest, answerOf(0, 50));
  expect(await pipeline.run('globex', 'status', undefined)).toMatchObject({
    workgroupId: 'globex',
    messages: 0,
  });
  await pipeline.closeShard('acme');
  await expect(pipeline.run('acme', 'status', undefined)).rejects.toMatchObject({ code: 'ShardNotOpen' });
  expect(await pipeline.run('globex', 'status', undefined)).toMatchObject({ workgroupId: 'globex' });
});

describe('errors keep their class on the way', () => {
  test('transient: another process has the file open, and the error names it', async () => {
    const dataDir = tempDir();
    await openTestShard({ path: warehouseOf(dataDir) });
    const opening = openShared(dataDir);
    await expect(opening).rejects.toBeInstanceOf(TransientError);
    await expect(opening).rejects.toMatchObject({
      code: 'WarehouseLocked',
      details: { holderPid: process.pid },
    });
  });

  test('terminal: the file is of another workgroup', async () => {
    const dataDir = tempDir();
    await (await openTestShard({ path: warehouseOf(dataDir), workgroupId: 'globex' })).close();
    const opening = openShared(dataDir);
    await expect(opening).rejects.toBeInstanceOf(TerminalError);
    await expect(opening).rejects.toMatchObject({ code: 'WrongWorkgroup', details: { holds: 'globex' } });
  });
});

describe('the thread ends without taking the process with it', () => {
  test.runIf(isSoak)('closing waits for work that was handed over', async () => {
    const dataDir = tempDir();
    const pipeline = startPipeline();
    await pipeline.open(assignmentOf(dataDir));
    const landing = [
      land(pipeline, oldest, answerOf(0, 5_000)),
      land(pipeline, at(5_000), answerOf(5_000, 9_000)),
    ];
    const status = pipeline.run('acme', 'status', undefined);
    await pipeline.close();
    const settled = await Promise.allSettled([...landing, status]);
    const landed = settled.slice(0, 2).filter(({ status }) => status === 'fulfilled').length;
    const shard = await openTestShard({ path: warehouseOf(dataDir) });
    expect(await landedOffsets(shard)).toHaveLength([0, 5_000, 9_000][landed]!);
    for (const { status, ...rest } of settled) {
      if (status === 'rejected') expect(rest).toMatchObject({ reason: { retryable: true } });
    }
  });

  test('a crash of the thread fails running operations, and the next thread continues from the checkpoint', async () => {
    const child = spawn(
      process.execPath,
      [
        '--import',
        join(import.meta.dirname, 'throw-in-thread.ts'),
        join(import.meta.dirname, 'crash-child.ts'),
        tempDir(),
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    onTestFinished(() => void child.kill('SIGKILL'));
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    const [exitCode, signal] = await once(child, 'exit');
    expect({ exitCode, signal }).toEqual({ exitCode: 0, signal: null });
    const { crashed, messages, distinct } = JSON.parse(output) as Record<string, number>;
    expect(crashed).toBeGreaterThan(0);
    expect({ messages, distinct }).toEqual({ messages: 60_000, distinct: 60_000 });
  });
});

test('publishing ends early without a new generation if it is aborted', async () => {
  const pipeline = await openShared();
  await land(pipeline, oldest, answerOf(0, 1_000));
  await pipeline.run('acme', 'rollUp', undefined);
  const stopped = AbortSignal.abort();
  await expect(pipeline.run('acme', 'publish', undefined, undefined, stopped)).rejects.toThrow(/abort/i);
  const published = await pipeline.run('acme', 'publish', undefined);
  expect(published).toMatchObject({ kind: 'published', sequence: 1 });
  // It is over by then, so there is nothing to stop.
  const ending = new AbortController();
  await pipeline.run('acme', 'status', undefined, undefined, ending.signal);
  ending.abort();
  expect(await pipeline.run('acme', 'status', undefined)).toMatchObject({ messages: 1_000 });
});
