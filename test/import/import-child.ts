// Imports a file into a warehouse, to be killed on the way.

import { importFile } from '../../src/import/import-file.ts';
import { mappingSchema } from '../../src/import/import-mapping.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { openShard } from '../../src/warehouse/shard.ts';
import { DEVICE, NOW_MS, testWorkgroup } from './settings.ts';

const [path, file] = process.argv.slice(2) as [string, string];
const clock = { now: () => NOW_MS };
const shard = await openShard({
  path,
  workgroupId: 'acme',
  memoryMegabytes: 256,
  threads: 2,
  clock,
  logger: silentLogger,
});
await importFile(
  shard,
  {
    path: file,
    table: 't',
    mapping: mappingSchema.parse({
      time: { column: 'time' },
      device: { id: DEVICE },
      fields: { total: 'total' },
    }),
  },
  {
    workgroup: testWorkgroup(),
    threads: 2,
    clock,
    logger: silentLogger,
    signal: new AbortController().signal,
    batchRows: 2_048,
    onProgress: ({ rowsLanded }) => void process.send?.(rowsLanded),
  },
);
await shard.close();
process.disconnect();
