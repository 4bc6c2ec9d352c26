// @module-tag slow
import { rmSync, statfsSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { decodeCbor } from '../../src/cbor/cbor-codec.ts';
import { warehouseFile } from '../../src/pipeline/assignment.ts';
import { isSoak } from '../support/rounds.ts';
import { runCommand } from '../support/run-command.ts';
import { mountSmallDisk } from '../support/small-disk.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { createUpProcess, type ProcessRole } from '../support/up-process.ts';

const device = '00000000-0000-4000-8000-00000000000a';
const energyStreams = [
  { table: 'solar', field: 'total_wh', method: 'total_energy' as const, unit: 'Wh' as const },
];

async function setUp(cwd = tempDir(), role: ProcessRole = 'up', dataDir = './data') {
  const service = await createUpProcess(
    cwd,
    {
      dataDir,
      pipeline: { pollEvery: '200ms', rollupEvery: '200ms', publishEvery: '200ms' },
      workgroups: [
        { id: 'home', energyStreams, meters: [{ code: 'PV' }] },
        { id: 'plant', energyStreams },
      ],
    },
    role,
  );
  onTestFinished(service.kill);
  const headers = { authorization: `Bearer ${service.token}` };
  let sent = 0;
  return {
    cwd,
    service,
    headers,
    dataDir: service.config.dataDir,
    async send(workgroupId: string, count = 1) {
      const items = Array.from({ length: count }, () => {
        sent += 1;
        return {
          device,
          source: 'roof',
          event_time: Date.now() - 600_000 + sent * 1_000,
          data: { total_wh: sent * 10 },
        };
      });
      const answer = await fetch(`${service.url}/api/v1/tables/${workgroupId}/solar/messages`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(items),
      });
      const body = decodeCbor(Buffer.from(await answer.arrayBuffer())) as {
        error?: string;
        message?: string;
      };
      return { status: answer.status, ...body };
    },
    async ready() {
      const answer = await fetch(`${service.url}/ready`);
      return { status: answer.status, text: await answer.text() };
    },
    async status() {
      const shown = await runCommand(['status', '--json'], { cwd });
      const listed = JSON.parse(shown.stdout || '[]') as Array<{
        workgroupId: string;
        state: string;
        lagSeconds?: number;
        poll: { lagMessages?: number };
        troubles: Array<{ message: string }>;
      }>;
      return {
        code: shown.code,
        stderr: shown.stderr,
        of: (id: string) => listed.find((one) => one.workgroupId === id),
      };
    },
  };
}

const isReady = (t: Awaited<ReturnType<typeof setUp>>) =>
  until('the service is ready', async () => (await t.ready()).status === 200);

test.runIf(isSoak)(
  'a log that was cut ends no process: its workgroup answers 503 with what to do, and others continue',
  async () => {
    const t = await setUp();
    await t.service.start();
    await isReady(t);
    for (let round = 0; round < 5; round++) expect((await t.send('home', 500)).status).toBe(200);
    expect((await t.send('plant')).status).toBe(200);
    expect(await t.service.stop()).toBe(0);
    const file = join(t.dataDir, 'stream', 'home', 'data.mdb');
    truncateSync(file, Math.floor(statSync(file).size / 2 / 4096) * 4096);

    await t.service.start();
    const refused = await t.send('home');
    expect(refused).toMatchObject({ status: 503, error: 'StorageUnavailable' });
    expect(refused.message).toContain(`the log ${file} is damaged`);
    expect(refused.message).toContain('move its folder aside');
    expect((await t.send('plant')).status).toBe(200);
    const ready = await t.ready();
    expect(ready.status).toBe(503);
    expect(ready.text).toContain('is damaged');
    const status = await t.status();
    expect(status.code).toBe(4);
    expect(status.stderr).toContain(`the log ${file} is damaged`);
    expect(status.of('plant')!.troubles).toEqual([]);
    expect(t.service.errorText()).toContain('is damaged');

    // As the error advises: after its folder was moved away, a new log begins.
    expect(await t.service.stop()).toBe(0);
    rmSync(join(t.dataDir, 'stream', 'home'), { recursive: true });
    await t.service.start();
    expect((await t.send('home')).status).toBe(200);
    await isReady(t);
  },
);

test('a full disk is named by the answers, by /ready and by status, and everything continues when there is space', {
  timeout: 240_000,
}, async (context) => {
  const disk = mountSmallDisk(160);
  if (!disk) return context.skip('this user cannot mount a file system');
  const data = disk.folder;
  const t = await setUp(dirname(data), 'up', data);
  await t.service.start();
  expect((await t.send('home')).status).toBe(200);
  await isReady(t);

  /** The worker frees some space now and then, so it is filled again. */
  const fillers: string[] = [];
  const fill = () => {
    const { bavail, bsize } = statfsSync(data);
    fillers.push(join(data, `filler-${fillers.length}`));
    try {
      writeFileSync(fillers.at(-1)!, Buffer.alloc(Math.max(0, bavail * bsize - 1024 ** 2)));
    } catch (error) {
      // The service may have taken the space first.
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  };
  let refused: Awaited<ReturnType<typeof t.send>> | undefined;
  await until('a message is refused', async () => {
    fill();
    refused = await t.send('home');
    return refused.status !== 200;
  });
  expect(refused).toMatchObject({ status: 503, error: 'StorageUnavailable' });
  expect(refused!.message).toContain(`the disk of ${join(data, 'stream', 'home')} is full`);
  expect(refused!.message).toContain('free some space');
  const words = `the disk of ${join(data, 'stream')} is full`;
  await until('it is not ready', async () => {
    const { status, text } = await t.ready();
    return status === 503 && text.includes(words);
  });
  await until('the status says so', async () => {
    const status = await t.status();
    return status.code === 4 && status.stderr.includes(words) && status.of('home')?.state === 'failing';
  });

  for (const filler of fillers) rmSync(filler);
  expect((await t.send('home')).status).toBe(200);
  await isReady(t);
  // The worker opens the warehouse again within a minute.
  await until('the status is well', async () => (await t.status()).of('home')!.troubles.length === 0);
});

test.runIf(isSoak)(
  'a stopped process that has the data is named, and without a worker the messages that have not landed are counted',
  async () => {
    const cwd = tempDir();
    const up = await setUp(cwd);
    await up.service.start();
    expect((await up.send('home', 3)).status).toBe(200);
    await until('everything has landed', async () => {
      const home = (await up.status()).of('home');
      return home?.state === 'running' && home.poll.lagMessages === 0;
    });
    await isReady(up);
    const { processId } = up.service;
    process.kill(processId!, 'SIGSTOP');
    try {
      const shown = await runCommand(['status'], { cwd });
      expect(shown.code).toBe(4);
      const text = shown.stdout + shown.stderr;
      expect(text).toMatch(
        new RegExp(`held by process ${processId}, started at \\d{4}-.*, which is stopped`),
      );
      expect(text).toContain(`kill -CONT ${processId}`);
      // A second process on the same folder is refused with the same words.
      const second = await runCommand(['up', '--port', '0'], { cwd });
      expect(second.code).toBe(3);
      expect(second.stderr).toContain(`process ${processId}`);
    } finally {
      process.kill(processId!, 'SIGCONT');
    }
    await isReady(up);

    expect(await up.service.stop()).toBe(0);
    const stream = await setUp(cwd, 'stream');
    await stream.service.start();
    expect((await stream.send('home', 7)).status).toBe(200);
    await until('the worker counts as stopped, and its backlog is known', async () => {
      const home = (await stream.status()).of('home');
      return home?.state === 'stopped' && home.poll.lagMessages === 7 && (home.lagSeconds ?? 0) > 0;
    });
    expect(await stream.service.stop()).toBe(0);
    // Nobody knows what a stopped stream would have received.
    expect((await stream.status()).of('home')!.poll.lagMessages).toBeUndefined();
  },
);

test.runIf(isSoak)(
  'a lake that was deleted is no empty report, and a deleted warehouse acknowledges nothing: both are named',
  async () => {
    const t = await setUp();
    await t.service.start();
    await isReady(t);
    expect((await t.send('plant', 3)).status).toBe(200);
    const day = new Date().toISOString().slice(0, 10);
    const energy = async () => {
      const query = `startDate=${day}&endDate=${day}`;
      const answer = await fetch(`${t.service.url}/api/v1/orgs/plant/daily-energy?${query}`, {
        headers: t.headers,
      });
      return { status: answer.status, text: await answer.text() };
    };
    await until('something is published', async () => (await energy()).text.includes(device));
    rmSync(join(t.dataDir, 'lake', 'plant'), { recursive: true });
    await t.send('plant');
    await until('the report refuses', async () => (await energy()).status === 503);
    const ready = await t.ready();
    expect(ready.status).toBe(503);
    expect(ready.text).toContain('the lake of workgroup plant cannot be read');
    await until('the status says so', async () => {
      const shown = await runCommand(['status'], { cwd: t.cwd });
      return /plant, publish at .*lake/.test(shown.stdout);
    });
    expect((await energy()).status).toBe(503);

    expect((await t.send('home', 3)).status).toBe(200);
    const put = (value: number) =>
      fetch(`${t.service.url}/api/v1/orgs/home/meter-data?meter=PV`, {
        method: 'PUT',
        headers: { ...t.headers, 'content-type': 'text/csv' },
        body: `time,value (kWh)\n2026-05-01T00:00Z,${value}\n2026-05-01T01:00Z,1\n`,
      });
    // Until the worker has opened the warehouse, the answer is to try again later.
    let stored = await put(1);
    await until('the worker has the warehouse open', async () => {
      if (stored.status === 503) stored = await put(1);
      return stored.status !== 503;
    });
    expect([stored.status, await stored.text()]).toMatchObject([200, expect.stringContaining('stored')]);
    const file = warehouseFile(t.dataDir, 'home');
    rmSync(file);
    const refused = await put(2);
    const answer = (await refused.json()) as { error: string; message: string };
    expect([refused.status, answer.error]).toEqual([503, 'StorageUnavailable']);
    expect(answer.message).toContain(`the warehouse ${file} was deleted while the service has it open`);
    await t.send('home');
    await until('the status says so', async () => {
      const shown = await runCommand(['status'], { cwd: t.cwd });
      return shown.stdout.includes(`the warehouse ${file} was deleted`);
    });
    expect((await t.send('plant')).status).toBe(200);
  },
);
