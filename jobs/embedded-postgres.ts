import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { PGlite, types } from '@electric-sql/pglite';
import type { PgQueryable } from 'bullmq';
import { errorMessage } from '../src/lib/errors.ts';
import type { Logger } from '../src/lib/logger.ts';

/** Small, because everything is in memory: PGlite reserves 128 MB for pages by default. */
const SETTINGS = { shared_buffers: '16MB', min_wal_size: '32MB', max_wal_size: '64MB' };

/**
 * Opens an empty embedded PostgreSQL in memory. It is not kept after the process, because schedules are set
 * up at every start, and a queue on disk could be damaged. Creating an empty database takes seconds and
 * hundreds of megabytes, so an image is kept in `cacheDir`. A damaged image is created again.
 */
export async function openEmbeddedPostgres(options: { cacheDir: string; logger: Logger }): Promise<PGlite> {
  const image = join(options.cacheDir, 'empty-database.tar.gz');
  const bytes = await readFile(image).catch(() => undefined);
  if (bytes) {
    try {
      // The image is unpacked here and not by PGlite, because PGlite ends the process if the image is
      // damaged. Unpacking checks its checksum.
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
    // As in node-postgres: 64-bit integers are text, which the backend converts itself.
    parsers: { [types.INT8]: (value) => value },
    ...(image && { loadDataDir: image }),
  });
}

/** Ignores a folder that cannot be written, because only the start becomes slower. */
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
 * Frees the space of deleted rows and old log segments. An embedded PostgreSQL has no autovacuum and no
 * checkpointer, so both would grow for ever.
 */
export async function tidyEmbeddedPostgres(pool: PgQueryable): Promise<void> {
  for (const table of BULLMQ_TABLES) await pool.query(`VACUUM bullmq.${table}`);
  await pool.query('CHECKPOINT');
}
