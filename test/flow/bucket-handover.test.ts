import { existsSync } from 'node:fs';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { assignmentOf, lakeRoot, warehousePath } from '../../src/pipeline/assignment.ts';
import { closeAssignment, openAssignment } from '../../src/pipeline/open-assignment.ts';
import { preparedAt } from '../../src/replica/prepare-take-over.ts';
import {
  type BucketServices,
  dailyEnergy,
  plainConfig,
  READINGS,
  readings,
  sendReadings,
  startBucketServices,
} from '../support/bucket-services.ts';
import { s3Missing } from '../support/s3-for-tests.ts';
import { createServiceProcess, type ServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

/** Makes a warehouse of more than 32 MiB, which a successor prepares. */
const OLD_READINGS = 5_000_000;

const assignment = ({ config }: ServiceProcess) => assignmentOf(config, config.workgroups[0]!);
const prepared = (of: ServiceProcess) => preparedAt(warehousePath(assignment(of)), lakeRoot(assignment(of)));

/** Stores old readings in the warehouse of a process that does not run, and commits them. */
async function growWarehouse(of: ServiceProcess): Promise<void> {
  const open = await openAssignment(assignment(of), systemClock, silentLogger);
  await open.shard.transaction((connection) =>
    connection.run(
      `INSERT INTO reading SELECT series_id, ${Date.UTC(2020, 0, 1)} + s.range * 10, round(1000 + s.range + random(), 1), NULL, NULL, 1
         FROM range(${OLD_READINGS}) s, series`,
    ),
  );
  open.snapshots.isWanted = true;
  await open.bucket!.commit({ isComplete: true });
  await closeAssignment(open);
}

/** An owner with a large warehouse, and another machine that is ready. */
async function twoMachines({ create, untilStored, redis }: BucketServices) {
  const [first, second] = [await create(), await create()];
  await first.start();
  await sendReadings(first, readings(0, 100));
  await untilStored(100);
  expect(await first.stop()).toBe(0);
  await growWarehouse(first);
  await first.start();
  await sendReadings(first, readings(100, 150));
  await untilStored(150);
  await second.start();
  const client = new Redis(redis.url);
  onTestFinished(() => client.disconnect());
  await until('both are workers', async () => (await client.zcard('wattline:workers')) === 2);
  return { first, second };
}

async function expectedEnergy(): Promise<unknown> {
  const plain = await createServiceProcess(plainConfig);
  await plain.start();
  await sendReadings(plain, readings(0, READINGS));
  const complete = async () => JSON.stringify(await dailyEnergy(plain)).includes('"energyWh":958');
  await until('the plain machine has all', complete);
  const expected = await dailyEnergy(plain);
  await plain.stop();
  return expected;
}

async function hasAll(machine: ServiceProcess, expected: unknown): Promise<void> {
  const got = async () => JSON.stringify(await dailyEnergy(machine));
  await until('the report has all', async () => (await got()) === JSON.stringify(expected)).catch(
    () => undefined,
  );
  expect(await dailyEnergy(machine)).toEqual(expected);
}

test.skipIf(s3Missing)(
  'the successor of a worker that stops has prepared its warehouse, and misses nothing of it',
  { timeout: 600_000 },
  async () => {
    const expected = await expectedEnergy();
    const services = await startBucketServices();
    const { first, second } = await twoMachines(services);
    const before = (await services.head())!;
    const stopping = first.stop();
    await until('the second one prepares', () => existsSync(`${prepared(second).root}`));
    expect((await services.head())!.ownerEpoch).toBe(before.ownerEpoch);
    await sendReadings(second, readings(150, READINGS));
    expect(await stopping).toBe(0);
    await services.untilStored(READINGS);
    expect(BigInt((await services.head())!.ownerEpoch)).toBe(BigInt(before.ownerEpoch) + 1n);
    await hasAll(second, expected);
    const { root, warehouse } = prepared(second);
    expect([existsSync(root), existsSync(warehouse)]).toEqual([false, false]);
    expect(await second.stop()).toBe(0);
  },
);

test.skipIf(s3Missing)(
  'a successor that is killed while it prepares changes nothing, and leaves nothing after its next start',
  { timeout: 600_000 },
  async () => {
    const expected = await expectedEnergy();
    const services = await startBucketServices();
    const { first, second } = await twoMachines(services);
    const stopping = first.stop();
    const { root, warehouse } = prepared(second);
    await until('the second one prepares', () => existsSync(root));
    await second.kill();
    expect(await stopping).toBe(0);
    await second.start();
    await until('it is removed', () => !existsSync(root) && !existsSync(warehouse));
    await sendReadings(second, readings(150, READINGS));
    await services.untilStored(READINGS);
    await hasAll(second, expected);
    expect(await second.stop()).toBe(0);
  },
);
