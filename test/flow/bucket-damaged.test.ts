import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { listReplicaCommits, readReplicaCommit } from '../../src/replica/replica-commit.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import {
  dailyEnergy,
  plainConfig,
  READINGS,
  readings,
  sendReadings,
  startBucketServices,
  statusOf,
} from '../support/bucket-services.ts';
import { s3Missing } from '../support/s3-for-tests.ts';
import { createServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

/**
 * The readings, and the entry of the audit log which says that the bucket went back. It is a message of the
 * stream, too.
 */
const MESSAGES = READINGS + 1;

test.skipIf(s3Missing)(
  'a machine is lost and its newest pack is damaged: another one restores the commit before, and reads the rest from the stream',
  async () => {
    const plain = await createServiceProcess(plainConfig);
    await plain.start();
    await sendReadings(plain, readings(0, READINGS));

    const { create, untilStored, store } = await startBucketServices();
    const first = await create();
    const second = await create();
    await first.start();
    await sendReadings(first, readings(0, 100));
    await untilStored(100);
    await sendReadings(first, readings(100, 200));
    await untilStored(200);
    await first.kill();
    rmSync(first.config.dataDir, { recursive: true });
    const { damaged, sound } = await damageNewestPack(store);

    await second.start();
    await sendReadings(second, readings(200, READINGS));
    await untilStored(MESSAGES);
    const contents = await contentsAfter(store, damaged);
    expect(contents.slice(0, 2)).toEqual([
      // The claim, before the pack was read, and the return to the sound commit.
      (await readReplicaCommit(store, damaged))!.generation,
      (await readReplicaCommit(store, sound))!.generation,
    ]);
    const expected = JSON.stringify(await dailyEnergy(plain));
    expect(expected).toContain('"energyWh":958');
    await until(
      'the report has all',
      async () => JSON.stringify(await dailyEnergy(second)) === expected,
    ).catch(() => undefined);
    expect(JSON.stringify(await dailyEnergy(second))).toBe(expected);
    await until('the status has all', () => statusOf(second)?.storedMessages === MESSAGES);
    expect(statusOf(second)).toMatchObject({ gaps: 0 });
    expect(await second.stop()).toBe(0);
  },
);

/**
 * Changes a byte in the middle of the newest pack.
 * @returns the newest commit, which needs it, and the newest commit that does not need it
 */
async function damageNewestPack(store: ObjectStore): Promise<{ damaged: number; sound: number }> {
  const commits = [];
  for await (const { sequence } of listReplicaCommits(store, 0))
    commits.push((await readReplicaCommit(store, sequence))!);
  const newest = commits.at(-1)!;
  const packsOf = (commit: typeof newest) => commit.generation?.packs.map(({ key }) => key) ?? [];
  const sound = commits.findLast(
    (one) => one.generation && packsOf(newest).some((key) => !packsOf(one).includes(key)),
  )!;
  const key = packsOf(newest).find((one) => !packsOf(sound).includes(one))!;
  const bytes = (await store.get(key))!;
  bytes[bytes.length >> 1]! ^= 1;
  await store.put(key, { bytes });
  return { damaged: newest.sequence, sound: sound.sequence };
}

async function contentsAfter(store: ObjectStore, after: number) {
  const contents = [];
  for await (const { sequence } of listReplicaCommits(store, after))
    contents.push((await readReplicaCommit(store, sequence))!.generation);
  return contents;
}
