import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger } from '../src/lib/logger.ts';
import { MINUTE_MS, SECOND_MS, systemClock } from '../src/lib/time.ts';
import { assignmentOf, warehousePath } from '../src/pipeline/assignment.ts';
import { closeAssignment, openAssignment } from '../src/pipeline/open-assignment.ts';
import { listSequences } from '../src/publish/lake-commit.ts';
import { lakePaths } from '../src/publish/lake-layout.ts';
import { listReplicaCommits, readReplicaCommit, readReplicaHead } from '../src/replica/replica-commit.ts';
import { workgroupStore } from '../src/storage/workgroup-store.ts';
import { until } from '../test/support/until.ts';
import type { ServiceProcess } from '../test/support/up-process.ts';
import { BUCKET_WORKGROUP, type BucketMachines, startBucketMachines } from './bucket-machines.ts';
import type { Ratio } from './decode.ts';
import { cpuSeconds, loadOfMachine } from './process-costs.ts';

const { env } = process;
const KILLS = Number(env.WATTLINE_BENCH_KILLS ?? 3);
const LARGE_KILLS = Number(env.WATTLINE_BENCH_LARGE_KILLS ?? 1);
const LARGE_MEGABYTES = Number(env.WATTLINE_BENCH_WAREHOUSE_MB ?? 100);
const LIMITS = { killMs: 30 * SECOND_MS, handoverMs: 5 * SECOND_MS };
const DEVICES = 100;
/** The bytes of the warehouse file that a stored reading of a register takes, about. */
const READING_BYTES = 7;
const READINGS_A_STEP = 5_000_000;
/** The time between two readings of a device. */
const EVERY_MS = 5 * SECOND_MS;
const WAIT_MS = 5 * MINUTE_MS;

/**
 * Time from the end of the owner of a workgroup until another machine with an empty disk has published a new
 * generation. The owner gets SIGKILL, with a small and a large warehouse, and SIGTERM, with another worker
 * ready.
 * WATTLINE_BENCH_KILLS, WATTLINE_BENCH_LARGE_KILLS and WATTLINE_BENCH_WAREHOUSE_MB change the numbers.
 */
export async function benchBucket(print: (line: string) => void): Promise<Ratio[]> {
  const machines = await startBucketMachines();
  try {
    const stream = await machines.add('stream');
    const first = await machines.add('up');
    await send(stream, DEVICES);
    const store = workgroupStore(first.config.storage, BUCKET_WORKGROUP)!;
    await until(
      'the bucket has a generation',
      async () => (await readReplicaHead(store))?.generation != null,
      WAIT_MS,
    );
    const at: Site = { machines, stream, owner: first };
    const limit = (name: string, measured: number, most: number): Ratio => ({
      name: `${name}, slowest`,
      ratio: most / measured,
      ratioMin: 1,
    });
    const small = await repeat(at, KILLS, 'SIGKILL', 'kill, small warehouse', print);
    const planned = await repeat(at, KILLS, 'SIGTERM', 'planned handover', print);
    const ratios = [
      limit('kill until the first generation elsewhere', small.wholeMs, LIMITS.killMs),
      limit('planned handover until the first generation elsewhere', planned.wholeMs, LIMITS.handoverMs),
    ];
    if (LARGE_KILLS === 0) return ratios;
    const megabytes = await growWarehouse(at, print);
    const large = await repeat(at, LARGE_KILLS, 'SIGKILL', `kill, warehouse of ${megabytes} MB`, print);
    const what = `planned handover of ${megabytes} MB`;
    const largePlanned = await repeat(at, LARGE_KILLS, 'SIGTERM', what, print);
    return [
      ...ratios,
      limit(`kill, warehouse of ${megabytes} MB`, large.wholeMs, LIMITS.killMs),
      // The successor restores most of the warehouse while its owner still works.
      limit(`${what}, from the last commit of the owner`, largePlanned.interruptionMs, LIMITS.handoverMs),
      limit(what, largePlanned.wholeMs, LIMITS.killMs),
    ];
  } finally {
    await machines.end();
  }
}

interface Site {
  machines: BucketMachines;
  stream: ServiceProcess;
  owner: ServiceProcess;
}

interface Times {
  /** From the signal until the next owner has published. */
  wholeMs: number;
  /**
   * The same from the last commit of the owner before, by the clock of the store, if it came after the
   * signal.
   */
  interruptionMs: number;
}

/** Ends the owner several times. The next owner has an empty disk each time. @returns the slowest times */
async function repeat(
  at: Site,
  times: number,
  signal: 'SIGKILL' | 'SIGTERM',
  what: string,
  print: (line: string) => void,
): Promise<Times> {
  const measured: number[] = [];
  const interruptions: number[] = [];
  const cpu: number[] = [];
  for (let turn = 0; turn < times; turn++) {
    const next = await at.machines.add('up');
    await at.machines.hasWorkers(2);
    const beforeCpuSeconds = cpuSeconds(next.processId!);
    const endedAtMs = performance.now();
    const ending = signal === 'SIGKILL' ? at.owner.kill() : at.owner.stop();
    // The owner before works until its successor is prepared, so one message could be published by it.
    const sending = setInterval(() => void send(at.stream, 1).catch(() => undefined), SECOND_MS);
    await send(at.stream, 1);
    await until(
      'the next owner has published',
      async () => (await publishedCount(next)) > 1,
      WAIT_MS,
    ).finally(() => clearInterval(sending));
    const wholeMs = performance.now() - endedAtMs;
    const publishedAtMs = Date.now();
    measured.push(wholeMs);
    interruptions.push(Math.min(wholeMs, publishedAtMs - (await lastCommitAtMs(next))));
    cpu.push(cpuSeconds(next.processId!) - beforeCpuSeconds);
    await ending;
    rmSync(at.owner.config.dataDir, { recursive: true, force: true });
    at.owner = next;
    if (signal === 'SIGKILL') await at.machines.hasWorkers(1);
  }
  const seconds = (times: readonly number[]) => times.map((ms) => (ms / SECOND_MS).toFixed(1)).join(', ');
  const cpuTimes = cpu.map((each) => each.toFixed(1)).join(', ');
  print(
    `${what}: ${seconds(measured)} s, of these ${seconds(interruptions)} s after the last commit of the owner; CPU time of the next owner ${cpuTimes} s (load ${loadOfMachine()})`,
  );
  return { wholeMs: Math.max(...measured), interruptionMs: Math.max(...interruptions) };
}

/** When the owner before this one has last committed. */
async function lastCommitAtMs({ config }: ServiceProcess): Promise<number> {
  const store = workgroupStore(config.storage, BUCKET_WORKGROUP)!;
  const owner = (await readReplicaHead(store))!.ownerEpoch;
  let atMs = 0;
  for await (const { sequence, modifiedAtMs } of listReplicaCommits(store, 0))
    if ((await readReplicaCommit(store, sequence))?.ownerEpoch !== owner) atMs = modifiedAtMs;
  return atMs;
}

/** The generations in the lake of a machine. After a takeover the first one is from the owner before. */
async function publishedCount({ config }: ServiceProcess): Promise<number> {
  const { commits } = lakePaths(join(config.dataDir, 'lake'), BUCKET_WORKGROUP);
  return (await listSequences({ commits })).length;
}

let sent = 0;

/** Sends a reading of each of these devices. */
async function send({ url, token }: ServiceProcess, devices: number): Promise<void> {
  sent += 1;
  const atMs = Date.now();
  const messages = Array.from({ length: devices }, (_, index) => ({
    device: deviceId(index),
    source: 'pv',
    event_time: atMs,
    data: { total_wh: 10_000_000 + sent },
  }));
  const answer = await fetch(`${url}/api/v1/tables/${BUCKET_WORKGROUP}/solar/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(messages),
  });
  if (answer.status !== 200) throw new Error(`ingest answered with ${answer.status}: ${await answer.text()}`);
}

function deviceId(index: number): string {
  return `5f1d${index.toString(16).padStart(4, '0')}-9c3e-4b1a-8f6d-000000000001`;
}

/**
 * Adds old readings of the devices to the warehouse until its file is large enough, with one statement for
 * some million. The next owner continues with them.
 * @returns the size of the file, MB
 */
async function growWarehouse(at: Site, print: (line: string) => void): Promise<number> {
  await at.owner.stop();
  const next = await at.machines.create('up');
  const { config } = next;
  const assignment = assignmentOf(config, config.workgroups[0]!);
  const startedAtMs = performance.now();
  const open = await openAssignment(assignment, systemClock, silentLogger);
  const steps = Math.ceil((LARGE_MEGABYTES * 1_000_000) / READING_BYTES / READINGS_A_STEP);
  const rowsMs = READINGS_A_STEP / DEVICES;
  for (let step = 0; step < steps; step++) {
    const fromMs = Date.UTC(2025, 0, 1) + step * rowsMs * EVERY_MS;
    await open.shard.transaction((connection) =>
      connection.run(
        `INSERT INTO reading SELECT series_id, ${fromMs} + s.range * ${EVERY_MS} + series_id % 60 * 1000,
           round(1000000 + series_id * 1000 + 8 * (${step * rowsMs} + s.range) + 3 * random(), 1), NULL, NULL, 1
         FROM range(${rowsMs}) s, series`,
      ),
    );
  }
  const filledAtMs = performance.now();
  // The readings changed no file of the lake.
  open.snapshots.isWanted = true;
  await open.bucket!.commit({ isComplete: true });
  await closeAssignment(open);
  const megabytes = Math.round(statSync(warehousePath(assignment)).size / 1_000_000);
  const [fillSeconds, commitSeconds] = [filledAtMs - startedAtMs, performance.now() - filledAtMs].map((ms) =>
    (ms / SECOND_MS).toFixed(0),
  );
  print(
    `${(steps * READINGS_A_STEP).toLocaleString('en')} readings, ${megabytes} MB: stored in ${fillSeconds} s, committed in ${commitSeconds} s`,
  );
  await next.start();
  at.owner = next;
  await at.machines.hasWorkers(1);
  await send(at.stream, 1);
  const before = await publishedCount(next);
  await until('the owner publishes', async () => (await publishedCount(next)) > before, WAIT_MS);
  return megabytes;
}
