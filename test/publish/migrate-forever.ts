// A worker that opens a lake and publishes, to be killed in the middle of it.
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { publishAndRenew } from './publish-and-renew.ts';
import { openTestShard } from './publish-fixture.ts';

const [dataDir] = process.argv.slice(2);
if (!dataDir) throw new Error('usage: migrate-forever.ts <dataDir>');
const { shard, lakeDir } = await openTestShard(dataDir, { clock: systemClock });
process.stdout.write('ready\n');
await publishAndRenew(shard, { lakeDir, clock: systemClock, logger: silentLogger });
process.stdout.write('published\n');
