// @module-tag slow
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { createNameTable } from '../../src/decode/name-table.ts';
import { mappingSchema } from '../../src/import/import-mapping.ts';
import { openImport } from '../../src/import/open-import.ts';
import { rowColumns } from '../../src/import/select-rows.ts';
import { tempDir } from '../support/temp-dir.ts';

/** Larger than what one thread reads at a time, 8 MB. */
const ROWS = 200_000;

test('the rows of a large file are read in order, because resumed imports and repeated local times depend on it', async () => {
  const path = join(tempDir(), 'large.csv');
  const padding = 'x'.repeat(60);
  const lines = Array.from({ length: ROWS }, (_, row) => `01.01.2026 00:00;SN-1;${row};${padding}\n`);
  writeFileSync(path, `time;device;value;note\n${lines.join('')}`);
  const opened = await openImport({
    path,
    table: 'solar',
    mapping: mappingSchema.parse({
      time: { column: 'time', format: '%d.%m.%Y %H:%M', zone: 'Europe/Berlin' },
      device: { column: 'device' },
      fields: { value: 'value' },
    }),
    workgroup: configSchema.parse({ workgroups: [{ id: 'acme' }] }).workgroups[0]!,
    names: createNameTable([]),
    baseOffset: 0n,
    storeTimeMs: 0,
    threads: 2,
  });
  onTestFinished(opened.close);
  let next = 0;
  let outOfOrder = 0;
  for await (const chunk of opened.chunks()) {
    const values = chunk.getColumnVector(rowColumns.values);
    for (let row = 0; row < chunk.rowCount; row++) if (values.getItem(row) !== next++) outOfOrder += 1;
  }
  expect([next, outOfOrder]).toEqual([ROWS, 0]);
});
