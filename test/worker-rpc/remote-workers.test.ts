// @module-tag slow
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/lib/time.ts';
import { stageUpload } from '../../src/upload/stage-upload.ts';
import { createRemoteControl } from '../../src/worker-rpc/remote-control.ts';
import { isSoak } from '../support/rounds.ts';
import { until } from '../support/until.ts';
import { setUpMachines } from './remote-support.ts';

type Machines = Awaited<ReturnType<typeof setUpMachines>>;
const timeout = 240_000;
const isOwner = { kind: 'answer', answer: { workgroupId: 'acme' } };

async function untilOwner({ directory }: Machines, workerId?: string): Promise<string> {
  let owner = '';
  await until('a worker has acme', async () => {
    const found = await directory.find('acme');
    owner = found.kind === 'owner' ? found.owner.workerId : '';
    return owner !== '' && (workerId === undefined || owner === workerId);
  });
  return owner;
}

test('a process without a data folder of the owner asks it, and an upload arrives with its bytes', {
  timeout,
}, async () => {
  const machines = await setUpMachines();
  const worker = await machines.startWorkerProcess('one');
  await untilOwner(machines);
  const { control } = machines;
  expect(await control.ask('acme', 'status', undefined)).toMatchObject(isOwner);
  expect(await control.reaches('acme')).toBe(true);
  const row = { line: 1, meter: 'PV', start: '2026-05-01', end: '2026-06-01', energyWh: 5, scenario: 'P50' };
  const callersFolder = join(machines.folder, 'caller');
  const staged = stageUpload(callersFolder, { kind: 'budget', rows: [row] }, systemClock);
  const upload = { path: staged.path, name: 'may.csv', actor: 'test', again: false };
  const stored = { kind: 'answer', answer: { kind: 'stored', accepted: 1 } };
  expect(await control.ask('acme', 'upload', upload)).toMatchObject(stored);
  const again = { kind: 'answer', answer: { kind: 'stored-before', accepted: 1 } };
  expect(await control.ask('acme', 'upload', upload)).toMatchObject(again);
  expect(readdirSync(join(worker.dataDir, 'uploads'))).toEqual([]);
  expect(existsSync(staged.path)).toBe(true);
});

test.runIf(isSoak)('after the owner was killed, the call waits for the next owner', { timeout }, async () => {
  const machines = await setUpMachines();
  const workers = [await machines.startWorkerProcess('one'), await machines.startWorkerProcess('two')];
  const first = await untilOwner(machines);
  const [owner, other] = workers.toSorted((one) => (one.workerId === first ? -1 : 1));
  await owner!.crash();
  expect(await machines.control.ask('acme', 'retry', {})).toMatchObject({ kind: 'answer' });
  expect(other!.ran('retry')).toBe(1);
});

test('a stopped owner does not run a call that the next owner has run', {
  timeout,
}, async () => {
  const machines = await setUpMachines();
  const workers = [await machines.startWorkerProcess('one'), await machines.startWorkerProcess('two')];
  const first = await untilOwner(machines);
  const [owner, other] = workers.toSorted((one) => (one.workerId === first ? -1 : 1));
  owner!.child.kill('SIGSTOP');
  expect(await machines.control.ask('acme', 'retry', {})).toMatchObject({ kind: 'answer' });
  expect(other!.ran('retry')).toBe(1);
  owner!.child.kill('SIGCONT');
  // It answers again, so it has looked at what had waited.
  await until('the first worker is known again', async () => {
    return (await machines.admin.exists(`wattline:address:${owner!.workerId}`)) === 1;
  });
  expect(await machines.control.ask('acme', 'status', undefined)).toMatchObject(isOwner);
  expect([owner!.ran('retry'), other!.ran('retry')]).toEqual([0, 1]);
});

test('any worker opens a workgroup that hibernates, unless the caller does not want that', {
  timeout,
}, async () => {
  const machines = await setUpMachines();
  await machines.startWorkerProcess('one', { isIdle: true });
  await machines.startWorkerProcess('two', { isIdle: true });
  await until('both are known', async () => {
    const found = await machines.directory.find('acme');
    return found.kind === 'free' && found.workers.length === 2;
  });
  const { control } = machines;
  expect(await control.ask('acme', 'status', undefined, { wake: false })).toEqual({ kind: 'not-running' });
  expect(await control.reaches('acme')).toBe(true);
  expect((await machines.directory.find('acme')).kind).toBe('free');
  expect(await control.ask('acme', 'status', undefined)).toMatchObject(isOwner);
  expect((await machines.directory.find('acme')).kind).toBe('owner');
});

test('an import of a file is refused on another machine, and runs on the same one', {
  timeout,
}, async () => {
  const machines = await setUpMachines();
  await machines.startWorkerProcess('one');
  await untilOwner(machines);
  const elsewhere = createRemoteControl({ ...machines, machine: 'another machine' });
  const mapping = { format: 'csv', columns: {} } as never;
  const request = { path: '/tmp/not-here.csv', table: 'solar', mapping };
  expect(await elsewhere.ask('acme', 'importStart', request)).toMatchObject({
    kind: 'failed',
    error: { code: 'FileElsewhere', retryable: false, message: expect.stringContaining('127.0.0.1') },
  });
  // The same machine is asked. These arguments are wrong.
  expect(await machines.control.ask('acme', 'importStart', request)).toMatchObject({
    kind: 'failed',
    error: { code: 'InvalidArguments' },
  });
});

test('the addresses are written again after Redis has lost them', { timeout }, async () => {
  const machines = await setUpMachines();
  const { workerId } = await machines.startWorkerProcess('one');
  await untilOwner(machines, workerId);
  await machines.admin.flushall();
  expect((await machines.directory.find('acme')).kind).toBe('free');
  await untilOwner(machines, workerId);
  expect(await machines.control.ask('acme', 'status', undefined)).toMatchObject(isOwner);
});
