// A worker that lands, rolls up and publishes without end, to be killed in the middle of it.
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS, systemClock } from '../../src/lib/time.ts';
import { compactLake } from '../../src/publish/compact-lake.ts';
import { publishAndRenew } from './publish-and-renew.ts';
import { addSeries, landMessages, openTestShard, replaceDays, replaceIntervals } from './publish-fixture.ts';

const [dataDir] = process.argv.slice(2);
if (!dataDir) throw new Error('usage: publish-forever.ts <dataDir>');
const { shard, lakeDir } = await openTestShard(dataDir, { clock: systemClock });
const status = await shard.status();
if (status.messages === 0) await addSeries(shard, 1, 1, 'inverter');
let storeTimeMs = Math.max(Date.UTC(2026, 10, 20), (status.checkpoints[0]?.lastStoreTimeMs ?? 0) + 1000);
process.stdout.write('ready\n');

for (let round = 0; ; round++) {
  await landMessages(shard, { count: 50, storeTimeMs });
  storeTimeMs += 1000;
  const energyWh = Math.floor(Math.random() * 10_000);
  const day = `2026-11-${String(1 + (round % 20)).padStart(2, '0')}`;
  await shard.transaction(async (connection) => {
    await replaceIntervals(connection, { series: 1, day, energyWh: [energyWh] });
    await replaceDays(connection, [{ day, device: 1, energyWh }]);
  });
  await publishAndRenew(shard, { lakeDir, currentEveryMs: 300, clock: systemClock, logger: silentLogger });
  process.stdout.write('published\n');
  if (round % 4 === 3) {
    // With a clock that is an hour ahead, all hours of the messages are over, so their files are merged.
    const clock = { now: () => systemClock.now() + HOUR_MS };
    await compactLake(shard, { lakeDir, clock, logger: silentLogger });
  }
}
