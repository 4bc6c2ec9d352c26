// @module-tag slow
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { MINUTE_MS } from '../../src/lib/time.ts';
import { forgetLake, openLake } from '../../src/publish/open-lake.ts';
import { publish } from '../../src/publish/publish.ts';
import type { PublishableShard } from '../../src/publish/publishable-shard.ts';
import { noteDeviceStatus } from '../../src/warehouse/note-device-status.ts';
import { deviceId } from '../support/messages.ts';
import { isSoak, rounds } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';
import { addSeries, landMessages, openFixture, storeDays, WORKGROUP } from './publish-fixture.ts';

const one = deviceId(1);
/** Configurations with different declarations. */
const configurations = [
  {},
  { timezone: 'Europe/Paris' },
  { devices: [{ id: one, name: 'roof', totalSource: 'pv' }] },
  { devices: [{ id: one, name: 'roof', sources: ['meter'] }] },
  { roles: [{ source: 'pv', role: 'production' as const }] },
  {
    meters: [{ code: 'main' }],
    sites: [{ name: 'home', meters: [{ code: 'main' }], devices: [{ id: one }] }],
  },
].map((settings) => configSchema.parse({ workgroups: [{ id: WORKGROUP, ...settings }] }).workgroups[0]!);

/** A warehouse. Its publications remember what they have declared, unless they forget it. */
async function openPublisher() {
  const clock = createTestClock();
  const { shard, lakeDir } = await openFixture(tempDir(), clock);
  onTestFinished(() => shard.close());
  let declared = configurations[0]!;
  let declarations = 0;
  const options = () => ({ lakeDir, declared, currentEveryMs: MINUTE_MS, clock, logger: silentLogger });
  const counting: PublishableShard = {
    ...shard,
    transaction: (work, more) =>
      shard.transaction((connection) => {
        const { run } = connection;
        connection.run = (...parameters) => {
          if (parameters[0].includes('TEMP TABLE device_source')) declarations++;
          return run.apply(connection, parameters);
        };
        return work(connection);
      }, more),
  };
  let minutes = 0;
  let series = 0;
  return {
    publish: () => publish(counting, options()),
    forget: async () => forgetLake(counting, await openLake(counting, options())),
    declarations: () => declarations,
    steps: {
      config: async (pick: number) => {
        declared = configurations[pick % configurations.length]!;
      },
      messages: async (pick: number) => {
        const storeTimeMs = TEST_START_MS + minutes++ * MINUTE_MS;
        await landMessages(shard, { count: 1 + (pick % 3), storeTimeMs });
        await shard.transaction((connection) => noteDeviceStatus(connection, storeTimeMs));
      },
      series: (pick: number) => addSeries(shard, ++series, pick % 4, ['pv', 'meter'][pick % 2]!),
      day: (pick: number) =>
        storeDays(shard, [{ day: `2026-11-${10 + (pick % 15)}`, device: pick % 4, energyWh: pick }]),
    },
  };
}

test.runIf(isSoak)(
  'declared data that is not made again is the same as if it were',
  { timeout: 300_000 },
  async () => {
    const step = fc.tuple(fc.constantFrom('config', 'messages', 'series', 'day'), fc.nat({ max: 59 }));
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: rounds(5, 8), maxLength: rounds(6, 12) }),
        async (steps) => {
          const publisher = await openPublisher();
          for (const [kind, pick] of steps) {
            await publisher.steps[kind](pick);
            await publisher.publish();
            await publisher.forget();
            // This one compares everything, and finds nothing that differs.
            expect(await publisher.publish()).toMatchObject({ kind: 'unchanged' });
          }
        },
      ),
      { numRuns: rounds(2, 4) },
    );
  },
);

test('declared data is made again only if the configuration, the devices or the range of days change', async () => {
  const { publish, steps, declarations } = await openPublisher();
  const made = async (work: Promise<unknown>) => {
    await work;
    const before = declarations();
    await publish();
    return declarations() - before;
  };
  await steps.messages(2);
  expect(await made(steps.series(1))).toBe(1);
  expect(await made(steps.day(1))).toBe(1);
  expect(await made(steps.messages(2))).toBe(0);
  expect(await made(steps.day(16))).toBe(0);
  expect(await made(steps.day(2))).toBe(1);
  expect(await made(steps.config(2))).toBe(1);
  expect(await made(steps.series(2))).toBe(1);
  expect(await made(steps.messages(0))).toBe(0);
});
