import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { PGlite, types } from '@electric-sql/pglite';
import type { PgQueryable } from 'bullmq';
import { errorMessage } from '../src/lib/errors.ts';
import type { Logger } from '../src/lib/logger.ts';

/** Small and bounded, because everything lies in memory: PGlite reserves 128 MB for pages by default. */
const SETTINGS = { shared_buffers: '16MB', min_wal_size: '32MB', max_wal_size: '64MB' };

/**
 * Opens an empty embedded PostgreSQL in memory. Nothing of it outlives the process, on purpose: what it holds is only
 * when the next ticks are due, which is set up again at every start, and a queue on disk could be found damaged.
 * Making an empty database takes seconds and hundreds of megabytes, so an image of one is kept in `cacheDir`; an image
 * that does not open is made again.
 */
export async function openEmbeddedPostgres(options: { cacheDir: string; logger: Logger }): Promise<PGlite> {
  const image = join(options.cacheDir, 'empty-database.tar.gz');
  const bytes = await readFile(image).catch(() => undefined);
  if (bytes) {
    try {
      // Decompressed here, because a damaged image would end the process if PGlite did it; the checksum finds damage.
      return await open(new Blob([await promisify(gunzip)(bytes)]));
    } catch (error) {
      options.logger.warn({ image, error: errorMessage(error) }, 'queue.image-damaged');
    }
  }
  const database = await open();
  await saveImage(database, image, options.logger);
  return database;
}

async function open(image?: Blob): Promise<PGlite> {
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return PGlite.create({
    startParams: [...PGlite.defaultStartParams, ...settings],
    // As node-postgres does it: 64-bit integers are text, which the backend turns into numbers itself.
    parsers: { [types.INT8]: (value) => value },
    ...(image && { loadDataDir: image }),
  });
}

/** A start without an image is only slower, so a folder that cannot be written is no failure. */
async function saveImage(database: PGlite, image: string, logger: Logger): Promise<void> {
  const staged = `${image}.${process.pid}`;
  try {
    await mkdir(join(image, '..'), { recursive: true });
    const blob = await database.dumpDataDir('none');
    await writeFile(staged, await promisify(gzip)(await blob.arrayBuffer(), { level: 3 }));
    await rename(staged, image);
  } catch (error) {
    logger.warn({ image, error: errorMessage(error) }, 'queue.image-not-saved');
    await rm(staged, { force: true }).catch(() => undefined);
  }
}

const BULLMQ_TABLES = ['job', 'event', 'scheduler', 'meta'];

/**
 * Gives back the room of rows and log segments that are no longer needed. Without it both grow for ever, because an
 * embedded PostgreSQL has neither autovacuum nor a checkpointer.
 */
export async function tidyEmbeddedPostgres(pool: PgQueryable): Promise<void> {
  for (const table of BULLMQ_TABLES) await pool.query(`VACUUM bullmq.${table}`);
  await pool.query('CHECKPOINT');
}
