import { cp, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedPostgres } from '../../jobs/embedded-postgres.ts';
import { silentLogger } from '../../src/lib/logger.ts';

/** A folder with the image of an empty database, shared by all tests, because making one takes seconds. */
export const queueImageDir = join(tmpdir(), 'wattline-test-queue-image');

/** Gives a worker that runs on `dataDir` this image, so that it does not make its own. */
export async function seedQueueImage(dataDir: string): Promise<void> {
  const database = await openEmbeddedPostgres({ cacheDir: queueImageDir, logger: silentLogger });
  await database.close();
  await mkdir(dataDir, { recursive: true });
  await cp(queueImageDir, join(dataDir, 'queue'), { recursive: true });
}
