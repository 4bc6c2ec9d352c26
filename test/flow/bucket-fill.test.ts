import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bundledFiles, bundledStore } from '../../src/backup/bundled-store.ts';
import { fileKey } from '../../src/publish/lake-layout.ts';
import {
  dailyEnergy,
  HOME,
  READINGS,
  readings,
  sendReadings,
  startBucketServices,
  statusOf,
} from '../support/bucket-services.ts';
import { s3Missing } from '../support/s3-for-tests.ts';
import { until } from '../support/until.ts';

/** The energy of the last day in half of the readings, and in all. */
const HALF_WH = 468;
const ALL_WH = 958;

test.skipIf(s3Missing)(
  'a machine works and reports before it has the files of the lake, and copies them also after it was killed',
  { timeout: 240_000 },
  async () => {
    const { create, head, untilStored, store } = await startBucketServices();
    const first = await create();
    await first.start();
    await sendReadings(first, readings(0, READINGS / 2));
    await untilStored(READINGS / 2);
    const expected = await settled(first, HALF_WH);
    // It commits all before it ends.
    expect(await first.stop()).toBe(0);
    rmSync(first.config.dataDir, { recursive: true });

    // Reports of energy do not read this file, so only the copy of the lake waits for it.
    const newest = (await head())!;
    const late = fileKey(newest.files.find(({ dataset }) => dataset === 'messages')!);
    const bytes = (await bundledStore(store, newest).get(late))!;
    // The other files of its bundle become separate objects.
    for (const key of bundledFiles(newest).keys())
      await store.put(key, { bytes: (await bundledStore(store, newest).get(key))! });
    for (const { key } of newest.bundles ?? []) await store.remove(key);
    await store.remove(late);

    const second = await create();
    await second.start();
    const fill = () => statusOf(second)?.bucket?.fill;
    const marker = join(second.config.dataDir, 'lake', HOME, 'incomplete');
    await until('all other files are here', () => fill()?.missingFiles === 1);
    expect(statusOf(second)?.bucket?.isLakeComplete).toBe(false);
    expect(await dailyEnergy(second)).toEqual(expected);

    // New messages are published and committed without it, and killing changes nothing.
    await second.kill();
    expect(existsSync(marker)).toBe(true);
    await second.start();
    await sendReadings(second, readings(READINGS / 2, READINGS));
    await untilStored(READINGS);
    await until('the status shows the copy', () => fill()?.missingFiles === 1);
    const during = await settled(second, ALL_WH);
    expect(existsSync(join(second.config.dataDir, 'lake', HOME, 'current'))).toBe(false);

    await store.put(late, { bytes });
    await until('the lake is complete', () => statusOf(second)?.bucket?.isLakeComplete === true, 90_000);
    expect(existsSync(marker)).toBe(false);
    expect(await dailyEnergy(second)).toEqual(during);
    await until('the folder for people is there', () =>
      existsSync(join(second.config.dataDir, 'lake', HOME, 'current')),
    );
    expect(await second.stop()).toBe(0);
  },
);

/** The answer when it has this energy and does not change any more. */
async function settled(machine: Parameters<typeof dailyEnergy>[0], energyWh: number): Promise<unknown> {
  let before = '';
  let answer: unknown;
  await until('the report has all days', async () => {
    answer = await dailyEnergy(machine);
    const text = JSON.stringify(answer);
    const isSame = text === before && text.includes(`"energyWh":${energyWh},`);
    before = text;
    return isSame;
  });
  return answer;
}
