import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Gap } from '../../src/client/read-outcome.ts';
import { metersSchema } from '../../src/config/meters.ts';
import { readText, type UploadTopic } from '../../src/upload/read-upload.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/import-and-backfill.md'), 'utf8');
const meters = metersSchema.parse([{ code: 'GRID-1' }, { code: 'PV' }]);

/** What the examples of a section are understood as. */
function examplesOf(heading: string, topic: UploadTopic) {
  const [, section = ''] = page.split(`### ${heading}\n`);
  const blocks = section.split('\n### ')[0]!.matchAll(/```(csv|json|ndjson)\n(.*?)```/gs);
  return [...blocks].map(([, format, text = '']) => {
    const options = { topic, name: 'example', meters, options: {} };
    const { kind, rows } = readText(Buffer.from(text), format === 'csv' ? 'csv' : 'json', options);
    return [kind, ...rows.map(({ energyWh }) => energyWh)];
  });
}

test('the files of meter data that the documentation shows are understood', () => {
  expect(examplesOf('Meter data', 'meter-data')).toEqual([
    ['meter_intervals', 1_250, 750],
    ['meter_registers', 120_345_500, 120_371_250],
    ['meter_intervals', 1_250],
  ]);
});

test('the files of budgets that the documentation shows are understood', () => {
  expect(examplesOf('Budgets', 'budget')).toEqual([
    ['budget', 14_600_000, 1_850_000, 70_000],
    ['budget', 4_850_000],
    ['budget', 410_500, 560_000],
    ['budget', 1_900_000, 1_750_500],
  ]);
});

test('the page explains every reason of a gap', () => {
  const reasons = {
    expired: true,
    recreated: true,
    lost_tail: true,
    rejected: true,
  } satisfies Record<Gap['reason'], true>;
  const table = page.split('\nEach gap has a reason:\n')[1]!;
  const told = [...table.split('\n\n')[0]!.matchAll(/^\| `(\w+)` \|/gm)].map(([, reason]) => reason);
  expect(told).toEqual(Object.keys(reasons));
});
