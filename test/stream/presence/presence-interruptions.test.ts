import { copyFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../../src/lib/logger.ts';
import { MINUTE_MS } from '../../../src/lib/time.ts';
import { openLmdbLog } from '../../../src/stream/log/lmdb-log.ts';
import { startRedis } from '../../support/redis.ts';
import { openTestRedisLog } from '../../support/redis-log.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { pass, RETENTION_MS, service, TIMEOUT_MS } from './start-presence.ts';

test('after a restart nothing is announced again, and silent devices get their full time', async () => {
  const path = join(tempDir(), 'presence.json');
  const before = await service({ path });
  await before.data(1);
  await before.pass(TIMEOUT_MS);
  await before.data(2);
  await before.pass(MINUTE_MS);
  await before.watch.save();
  const said = ['1 online data received', '1 offline timeout', '2 online data received'];
  expect(await before.said()).toEqual(said);

  await before.clock.advance(20 * MINUTE_MS);
  const after = await service({ ...before, path });
  await after.pass(TIMEOUT_MS - 5_000);
  expect(await after.said()).toEqual(said);
  await after.pass(5_000);
  expect((await after.said()).slice(3)).toEqual(['2 offline timeout']);
});

test('after an interruption the silence of devices counts from the beginning', async () => {
  const at = await service();
  await at.data(1);
  await at.pass(MINUTE_MS);
  await at.clock.advance(40 * MINUTE_MS);
  await at.watch.look();
  await at.pass(TIMEOUT_MS - 5_000);
  expect(await at.said()).toEqual(['1 online data received']);
  await at.pass(5_000);
  expect(await at.said()).toHaveLength(2);
});

test.each([
  [10_000, ['1 online data received', '1 offline timeout']],
  [10_001, ['1 online data received']],
])('a time without a look is an interruption if it is longer than 10 s: %i ms', async (leapMs, said) => {
  const at = await service();
  await at.data(1);
  await at.pass(TIMEOUT_MS - 5_000);
  at.clock.leap(leapMs);
  await at.watch.look();
  expect(await at.said()).toEqual(said);
});

test('the presence is stored each minute, so that a crash costs little', async () => {
  const path = join(tempDir(), 'presence.json');
  const at = await service({ path });
  await at.data(1);
  await at.pass(55_000);
  expect(existsSync(path)).toBe(false);
  await at.pass(5_000);
  expect(existsSync(path)).toBe(true);
});

test('if the log refused data, no device is announced as offline for it', async () => {
  const at = await service();
  await at.data(1);
  await at.pass(TIMEOUT_MS - 5_000);
  const { announce } = at.log;
  at.log.announce = () => Promise.reject(new Error('the disk is full'));
  await at.pass(5 * MINUTE_MS);
  at.log.announce = announce;
  await at.pass(MINUTE_MS);
  await at.data(1);
  await at.pass(MINUTE_MS);
  expect(await at.said()).toEqual(['1 online data received']);
});

test('an announcement that was stored although its append failed is not repeated', async () => {
  const at = await service();
  await at.data(1);
  const { announce } = at.log;
  at.log.announce = async (batch, readTo) => {
    await announce(batch, readTo);
    throw new Error('the fault came after the disk had it');
  };
  await at.watch.look();
  at.log.announce = announce;
  await at.pass(MINUTE_MS);
  expect(await at.said()).toEqual(['1 online data received']);
});

test('an announcement that was trimmed does not block later ones', async () => {
  const path = join(tempDir(), 'presence.json');
  const before = await service({ path });
  await before.data(1);
  await before.pass(MINUTE_MS);
  await before.watch.save();
  const early = `${path}.early`;
  copyFileSync(path, early);
  await before.pass(TIMEOUT_MS);
  expect(await before.said()).toEqual(['1 online data received', '1 offline timeout']);
  await before.clock.advance(2 * RETENTION_MS);
  await before.log.trim();
  const after = await service({ clock: before.clock, log: before.log, path: early });
  await after.pass(TIMEOUT_MS + MINUTE_MS);
  expect(await after.said()).toEqual(['1 offline timeout']);
});

test('offline devices stay known beyond the retention, unless the file cannot be read', async () => {
  const path = join(tempDir(), 'presence.json');
  const folder = tempDir();
  const clock = createTestClock();
  const settings = {
    clock,
    logger: silentLogger,
    retentionMs: RETENTION_MS,
    cacheBytesMax: 1e6,
    path: folder,
  };
  const open = () => {
    const log = openLmdbLog(settings);
    onTestFinished(() => log.close());
    return log;
  };
  let log = open();
  let at = await service({ clock, log, path });
  await at.data(1);
  await at.pass(TIMEOUT_MS + 2 * RETENTION_MS);
  await at.watch.save();
  await log.trim();
  await log.close();

  log = open();
  at = await service({ clock, log, path });
  await at.data(2);
  await at.data(1);
  await at.pass(MINUTE_MS);
  expect((await at.said()).toSorted()).toEqual(['1 online data received', '2 online data received']);
  await log.close();

  writeFileSync(path, '{"format":1,"epo');
  log = open();
  at = await service({ clock, log, path });
  await at.pass(MINUTE_MS);
  expect(await at.said()).toHaveLength(2);
});

test('several services with their own data folders announce each transition in Redis once', {
  tags: ['slow'],
}, async () => {
  const redis = await startRedis();
  onTestFinished(redis.stop);
  const clock = createTestClock();
  const services = await Promise.all(
    [1, 2, 3].map(async () => {
      const { log } = await openTestRedisLog(redis.url, { clock });
      return service({ clock, log });
    }),
  );
  const [first] = services;
  const lookAll = () => Promise.all(services.map(({ watch }) => watch.look()));
  const rounds = 3;
  for (let round = 0; round < rounds; round++) {
    await Promise.all([1, 2, 3, 4, 5].map((device) => services[device % 3]!.data(device)));
    await lookAll();
    await lookAll();
    await pass(clock, TIMEOUT_MS, lookAll);
  }
  const said = await first!.said();
  expect(said.toSorted()).toEqual(
    [1, 2, 3, 4, 5]
      .flatMap((device) =>
        Array.from({ length: rounds }, () => [`${device} offline timeout`, `${device} online data received`]),
      )
      .flat()
      .toSorted(),
  );
});
