import { chmodSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { systemClock } from '../../src/lib/time.ts';
import { openCommandLake } from '../../src/service/open-command-lake.ts';
import { tempDir } from '../support/temp-dir.ts';

/** What a command writes into a data folder that others may enter: paths and their modes. Asks no bucket. */
async function modesAfter(dataReaders: 'owner' | 'everyone'): Promise<Map<string, number>> {
  const dataDir = tempDir();
  chmodSync(dataDir, 0o755);
  const s3 = { endpoint: 'http://127.0.0.1:1', bucket: 'energy', accessKeyId: 'a', secretAccessKey: 's' };
  const config = configSchema.parse({ dataDir, dataReaders, storage: { s3 }, workgroups: [{ id: 'home' }] });
  const umask = process.umask(0o022);
  onTestFinished(() => void process.umask(umask));
  const lake = await openCommandLake(config, { clock: systemClock });
  onTestFinished(lake.close);
  const paths = readdirSync(dataDir, { recursive: true, encoding: 'utf8' });
  return new Map(paths.map((path) => [path, statSync(join(dataDir, path)).mode & 0o777]));
}

test('what a command writes that reads a bucket is private in a data folder that is not', async () => {
  const modes = await modesAfter('owner');
  expect([modes.get('lock'), modes.get('cache/command-1')]).toEqual([0o700, 0o700]);
  expect([...modes].filter(([, mode]) => (mode & 0o077) !== 0)).toEqual([]);
});

test('with dataReaders others can read it, but not its cache', async () => {
  const modes = await modesAfter('everyone');
  expect([modes.get('lock'), modes.get('cache/command-1')]).toEqual([0o755, 0o700]);
});
