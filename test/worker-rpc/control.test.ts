import { fork, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { InputError, TerminalError, TransientError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { machineName } from '../../src/lib/machine-name.ts';
import { processFacts } from '../../src/lib/process-facts.ts';
import { createPipeline, type Pipeline } from '../../src/pipeline/pipeline.ts';
import { createControl } from '../../src/worker-rpc/control.ts';
import type { ControlFile } from '../../src/worker-rpc/control-file.ts';
import { createControlServer } from '../../src/worker-rpc/control-server.ts';
import { assignmentOf } from '../pipeline/answers.ts';
import { builtModule } from '../support/process-environment.ts';
import { isSoak } from '../support/rounds.ts';
import { createServiceProcess } from '../support/service-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

/** The owner of the warehouses of these workgroups, in this process. */
async function startOwner(dataDir: string, workgroupIds = ['acme']) {
  const pipeline = createPipeline({ logLevel: 'silent', logger: silentLogger });
  const control = createControlServer({ dataDir, pipeline, logger: silentLogger });
  onTestFinished(async () => {
    await control.end();
    await pipeline.close();
  });
  for (const id of workgroupIds) {
    await pipeline.open(assignmentOf(dataDir, id));
    await control.open(id);
  }
  return { pipeline, control };
}

/**
 * A server with operations that do what a test needs; what is asked of them travels as it does for the real
 * ones.
 */
async function startServer(dataDir: string, run: Pipeline['run']) {
  const control = createControlServer({ dataDir, pipeline: { run }, logger: silentLogger });
  onTestFinished(() => control.end());
  await control.open('acme');
  return control;
}

const fileOf = (dataDir: string, id = 'acme') => join(dataDir, 'control', `${id}.json`);
const read = (dataDir: string) => JSON.parse(readFileSync(fileOf(dataDir), 'utf8')) as ControlFile;

describe('the owner of a warehouse', () => {
  test('answers another process for each of its workgroups, with whole numbers as text', {
    tags: ['slow'],
  }, async () => {
    const dataDir = tempDir();
    await startOwner(dataDir, ['acme', 'globex']);
    const control = createControl(dataDir);
    for (const workgroupId of ['acme', 'globex']) {
      const outcome = await control.ask(workgroupId, 'status', undefined);
      expect(outcome).toMatchObject({ kind: 'answer', answer: { workgroupId, epoch: '1', messages: 0 } });
    }
  });

  test('writes its address into a file for its own user only, and removes it when it closes', {
    tags: ['slow'],
  }, async () => {
    const dataDir = tempDir();
    const { control } = await startOwner(dataDir, ['acme', 'globex']);
    expect(statSync(fileOf(dataDir)).mode & 0o777).toBe(0o600);
    expect(statSync(join(dataDir, 'control')).mode & 0o777).toBe(0o700);
    expect(read(dataDir)).toEqual({
      port: expect.any(Number),
      secret: expect.any(String),
      pid: process.pid,
      machine: machineName(),
    });
    control.close('acme');
    expect(readdirSync(join(dataDir, 'control'))).toEqual(['globex.json']);
    expect(await createControl(dataDir).ask('acme', 'status', undefined)).toEqual({ kind: 'not-running' });
    expect(await createControl(dataDir).ask('globex', 'status', undefined)).toMatchObject({ kind: 'answer' });
  });

  test('leaves the file alone that a later owner has written', { tags: ['slow'] }, async () => {
    const dataDir = tempDir();
    const first = await startOwner(dataDir);
    const later: ControlFile = { ...read(dataDir), secret: 'x'.repeat(43) };
    writeFileSync(fileOf(dataDir), JSON.stringify(later));
    first.control.close('acme');
    expect(read(dataDir)).toEqual(later);
  });

  test('finishes running requests before it ends', async () => {
    const dataDir = tempDir();
    const answering = Promise.withResolvers<unknown>();
    const asked = Promise.withResolvers<void>();
    const control = await startServer(dataDir, () => {
      asked.resolve();
      return answering.promise as never;
    });
    const outcome = createControl(dataDir).ask('acme', 'status', undefined);
    await asked.promise;
    const ended = control.end();
    answering.resolve({ messages: 7 });
    expect(await outcome).toEqual({ kind: 'answer', answer: { messages: 7 } });
    await ended;
  });
});

test('a running service answers while it owns the warehouse, and leaves nothing behind', {
  tags: ['slow'],
}, async () => {
  const service = await createServiceProcess({ workgroups: [{ id: 'acme' }] });
  await service.start();
  const { dataDir } = service.config;
  const control = createControl(dataDir);
  await until('the warehouse is open', async () => {
    const outcome = await control.ask('acme', 'status', undefined);
    return outcome.kind === 'answer' && outcome.answer.workgroupId === 'acme';
  });
  expect(await service.stop()).toBe(0);
  expect(readdirSync(join(dataDir, 'control'))).toEqual([]);
});

describe('nobody is asked', () => {
  test('if no process has ever had the warehouse open', async () => {
    expect(await createControl(tempDir()).ask('acme', 'status', undefined)).toEqual({ kind: 'not-running' });
  });

  test.runIf(isSoak)('if the owner was killed, and no error after the next owner has opened it', async () => {
    const dataDir = tempDir();
    const child = fork(
      builtModule('owner-child.js') ?? join(import.meta.dirname, 'owner-child.ts'),
      [dataDir],
      {
        stdio: 'inherit',
        execArgv: [],
      },
    );
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child, 'message');
    const control = createControl(dataDir);
    expect(await control.ask('acme', 'status', undefined)).toMatchObject({
      kind: 'answer',
      answer: { epoch: '1' },
    });
    const left = read(dataDir);
    expect(left.pid).toBe(child.pid);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(read(dataDir)).toEqual(left);
    expect(await control.ask('acme', 'status', undefined)).toEqual({ kind: 'not-running' });
    await startOwner(dataDir);
    expect(await control.ask('acme', 'status', undefined)).toMatchObject({
      kind: 'answer',
      answer: { epoch: '2' },
    });
  });

  test('if another process has the pid of the dead owner, and another server its port', async () => {
    const dataDir = tempDir();
    const asked: string[] = [];
    const stranger = createServer((incoming, response) => {
      asked.push(incoming.url!);
      response.end('{"result":{"messages":1}}');
    });
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void stranger.close());
    const { port } = stranger.address() as AddressInfo;
    mkdirSync(join(dataDir, 'control'));
    writeFileSync(fileOf(dataDir), JSON.stringify({ port, secret: 'x'.repeat(43), pid: process.pid }));
    expect(await createControl(dataDir).ask('acme', 'status', undefined)).toEqual({ kind: 'not-running' });
    expect(asked).toEqual(['/acme/status']);
  });

  test('if the secret of the file is not that of the owner', async () => {
    const dataDir = tempDir();
    await startServer(dataDir, async () => 1 as never);
    writeFileSync(fileOf(dataDir), JSON.stringify({ ...read(dataDir), secret: 'x'.repeat(43) }));
    expect(await createControl(dataDir).ask('acme', 'status', undefined)).toEqual({ kind: 'not-running' });
  });

  test.each(['', '{', '{"port":80}', 'null'])('where the file says %j', async (text) => {
    const dataDir = tempDir();
    mkdirSync(join(dataDir, 'control'));
    writeFileSync(fileOf(dataDir), text);
    expect(await createControl(dataDir).ask('acme', 'status', undefined)).toEqual({ kind: 'not-running' });
  });
});

test('the next owner is asked if it has opened the warehouse since the file was read', async () => {
  const dataDir = tempDir();
  await startServer(dataDir, async () => 'next' as never);
  const next = readFileSync(fileOf(dataDir));
  const before = createServer((_, response) => {
    writeFileSync(fileOf(dataDir), next);
    response.end();
  });
  await new Promise<void>((resolve) => before.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void before.close());
  const { port } = before.address() as AddressInfo;
  writeFileSync(fileOf(dataDir), JSON.stringify({ port, secret: 'x'.repeat(43), pid: process.pid }));
  expect(await createControl(dataDir).ask('acme', 'status', undefined)).toEqual({
    kind: 'answer',
    answer: 'next',
  });
});

test('a worker opens a workgroup that hibernates, unless the caller does not want that', async () => {
  const dataDir = tempDir();
  const opened: string[] = [];
  const run = async (workgroupId: string) => {
    opened.push(workgroupId);
    return 'awake' as never;
  };
  const canWake = async (workgroupId: string) => workgroupId === 'acme';
  const worker = createControlServer({ dataDir, pipeline: { run }, canWake, logger: silentLogger });
  onTestFinished(() => worker.end());
  await worker.listen();
  const control = createControl(dataDir);
  expect(await control.reaches('acme')).toBe(true);
  expect(await control.reaches('globex')).toBe(false);
  const asleep = await control.ask('acme', 'status', undefined, { wake: false });
  expect([asleep, opened]).toEqual([{ kind: 'not-running' }, []]);
  expect(await control.ask('acme', 'status', undefined)).toEqual({ kind: 'answer', answer: 'awake' });
  expect(opened).toEqual(['acme']);
});

test('each worker of a data folder is asked, until one can open the workgroup', async () => {
  const dataDir = tempDir();
  const workers = join(dataDir, 'control', 'workers');
  for (const opened of ['acme', 'globex']) {
    const canWake = async (workgroupId: string) => workgroupId === opened;
    const run = async () => opened as never;
    const worker = createControlServer({ dataDir, pipeline: { run }, canWake, logger: silentLogger });
    onTestFinished(() => worker.end());
    await worker.listen();
    // The next worker has the same process id, so its file would replace this one.
    renameSync(join(workers, `${process.pid}.json`), join(workers, `${opened}.json`));
  }
  const control = createControl(dataDir);
  for (const workgroupId of ['acme', 'globex']) {
    const answer = await control.ask(workgroupId, 'status', undefined);
    expect(answer).toEqual({ kind: 'answer', answer: workgroupId });
    expect(await control.reaches(workgroupId)).toBe(true);
  }
  expect(await control.ask('unknown', 'status', undefined)).toEqual({ kind: 'not-running' });
});

describe('a failure', () => {
  test('says that nothing was sent if the owner is stopped by a signal', async () => {
    const dataDir = tempDir();
    const child = spawn('sleep', ['60']);
    onTestFinished(() => void child.kill('SIGKILL'));
    child.kill('SIGSTOP');
    await until('it is stopped', () => processFacts(child.pid!)?.isStopped === true);
    mkdirSync(join(dataDir, 'control'));
    writeFileSync(fileOf(dataDir), JSON.stringify({ port: 1, secret: 'x'.repeat(43), pid: child.pid }));
    expect(await createControl(dataDir).ask('acme', 'status', undefined)).toMatchObject({
      kind: 'failed',
      error: { code: 'NoAnswer', details: { isNotSent: true } },
    });
  });

  test.each([
    ['transient', new TransientError('DiskFull', 'no room', { details: { bytes: 5n } }), TransientError],
    ['terminal', new TerminalError('NoSuchDay', 'no such day'), TerminalError],
    ['input', new InputError('may.csv', [{ path: 'line 2', message: 'is odd' }]), InputError],
  ])('that is %s over there is so here', async (_, error, type) => {
    const dataDir = tempDir();
    await startServer(dataDir, () => Promise.reject(error));
    const outcome = await createControl(dataDir).ask('acme', 'status', undefined);
    if (outcome.kind !== 'failed') throw new Error(outcome.kind);
    expect(outcome.error).toBeInstanceOf(type);
    expect(outcome.error).toMatchObject({ code: error.code, message: error.message });
  });

  test('is a timeout if the answer takes too long', async () => {
    const dataDir = tempDir();
    const answering = Promise.withResolvers<unknown>();
    await startServer(dataDir, () => answering.promise as never);
    const outcome = await createControl(dataDir).ask('acme', 'status', undefined, { withinMs: 50 });
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'NoAnswer', retryable: true } });
    answering.resolve(undefined);
  });

  test('is thrown if the caller aborts', async () => {
    const dataDir = tempDir();
    const answering = Promise.withResolvers<unknown>();
    const asker = new AbortController();
    await startServer(dataDir, () => {
      asker.abort(new Error('enough'));
      return answering.promise as never;
    });
    const asking = createControl(dataDir).ask('acme', 'status', undefined, { signal: asker.signal });
    await expect(asking).rejects.toThrow('enough');
    answering.resolve(undefined);
  });

  test('is thrown if there are too many requests at once', async () => {
    const dataDir = tempDir();
    const answering = Promise.withResolvers<unknown>();
    let underWay = 0;
    await startServer(dataDir, () => {
      underWay += 1;
      return answering.promise as never;
    });
    const control = createControl(dataDir);
    const outcomes = Array.from({ length: 16 + 128 + 1 }, () => control.ask('acme', 'status', undefined));
    const early: unknown[] = [];
    for (const outcome of outcomes) void outcome.then((one) => early.push(one));
    await until('one is refused', () => early.length > 0);
    // It comes after all of them.
    expect(await control.reaches('acme')).toBe(true);
    expect(early).toMatchObject([{ kind: 'failed', error: { code: 'Busy', retryable: true } }]);
    expect(underWay).toBe(16);
    answering.resolve(1);
    const kinds = Map.groupBy(await Promise.all(outcomes), ({ kind }) => kind);
    expect([kinds.get('answer')!.length, kinds.get('failed')!.length]).toEqual([144, 1]);
    expect(underWay).toBe(144);
    expect(await control.ask('acme', 'status', undefined)).toMatchObject({ kind: 'answer' });
  });
});

test('one explanation runs at a time, two may wait, and more are refused with Retry-After', async () => {
  const dataDir = tempDir();
  const explaining = Promise.withResolvers<void>();
  const underWay = { now: 0, most: 0, all: 0 };
  await startServer(dataDir, async () => {
    underWay.all++;
    underWay.most = Math.max(underWay.most, ++underWay.now);
    await explaining.promise;
    underWay.now--;
    return underWay.all as never;
  });
  const control = createControl(dataDir);
  const args = { device: randomUUID(), day: '2026-11-20' };
  const outcomes = Array.from({ length: 4 }, () => control.ask('acme', 'explain', args));
  expect(await Promise.race(outcomes)).toMatchObject({ kind: 'failed', error: { code: 'Busy' } });
  explaining.resolve();
  const kinds = (await Promise.all(outcomes)).map(({ kind }) => kind);
  expect(kinds.toSorted()).toEqual(['answer', 'answer', 'answer', 'failed']);
  expect(underWay).toEqual({ now: 0, most: 1, all: 3 });
});

describe('a stranger', () => {
  async function post(
    port: number,
    path: string,
    headers: Record<string, string>,
    body = '{}',
    method = 'POST',
  ) {
    const asked = request({ host: '127.0.0.1', port, path, method, headers });
    asked.on('error', () => undefined);
    asked.end(body);
    const [response] = await once(asked, 'response');
    let text = '';
    for await (const chunk of response) text += chunk;
    return { status: response.statusCode as number, body: JSON.parse(text) as { error?: { code: string } } };
  }

  test('is refused without the secret of the very workgroup', { tags: ['slow'] }, async () => {
    const dataDir = tempDir();
    await startOwner(dataDir, ['acme', 'globex']);
    const { port, secret } = read(dataDir);
    const authorization = `Bearer ${secret}`;
    const refused = { status: 401, body: {} };
    expect(await post(port, '/acme/status', {})).toEqual(refused);
    expect(await post(port, '/acme/status', { authorization: `Bearer ${secret.slice(0, -1)}` })).toEqual(
      refused,
    );
    expect(await post(port, '/acme/status', { authorization: `Bearer ${secret}A` })).toEqual(refused);
    expect(await post(port, '/globex/status', { authorization })).toEqual(refused);
    expect(await post(port, '/nobody/status', { authorization })).toEqual(refused);
    expect(await post(port, '/acme/status', { authorization }, '', 'GET')).toEqual(refused);
    expect((await post(port, '/acme/status', { authorization })).status).toBe(200);
  });

  test('gets nothing done that is not on the list, or with arguments of another form', async () => {
    const dataDir = tempDir();
    await startServer(dataDir, () => Promise.reject(new Error('was run')));
    const { port, secret } = read(dataDir);
    const codeOf = async (path: string, body: string) =>
      (await post(port, path, { authorization: `Bearer ${secret}` }, body)).body.error?.code;
    for (const operation of ['land', 'constructor', '__proto__', '', 'toString']) {
      expect(await codeOf(`/acme/${operation}`, '{}')).toBe('UnknownOperation');
    }
    for (const body of ['{"args":1}', '{"args":null}', '', '{', '[']) {
      expect(await codeOf('/acme/status', body)).toBe('InvalidArguments');
    }
    expect(await codeOf('/acme/status', `{"args":"${'x'.repeat(1_100_000)}"}`)).toBe('TooLarge');
  });
});
