// @module-tag slow
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { EnergyStreamInput } from '../../src/config/energy-stream.ts';
import { deviceOf } from '../rollup/many-streams.ts';
import { type CaseReading, energyByDay, rollUpSite } from '../rollup/rollup-fixture.ts';
import { sampled } from '../support/rounds.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';
import { fileOf, importInto, testWorkgroup } from './import-fixture.ts';

interface GoldenCase {
  id: string;
  timezone: string;
  energyStreams: EnergyStreamInput[];
  readings: CaseReading[];
  expected: Record<string, number>;
}
const folder = join(import.meta.dirname, '..', 'golden');
const cases: GoldenCase[] = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .flatMap((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')));

// One of each kind, because they differ only in the roll-up, and not in the import.
const chosen = [
  'simple',
  'dst-repeated-hour',
  'sentinels',
  'duplicates-shuffled',
  'mixed-units',
  'power-irregular',
  'sources-add-up',
];
// Cases with the same rules share a warehouse, each with its own device.
const chosenCases = sampled(chosen, 3).map((id) => cases.find((one) => one.id === id)!);
const alike = Map.groupBy(chosenCases, ({ timezone, energyStreams }) =>
  JSON.stringify([timezone, energyStreams]),
);
test.each([...alike.values()].map((group) => ({ ids: group.map(({ id }) => id).join(', '), group })))(
  'the golden cases $ids, imported, give the energy that they give through the stream',
  async ({ group }) => {
    const { timezone, energyStreams } = group[0]!;
    const shard = await openTestShard();
    const names = group.flatMap(({ readings }) => readings.flatMap(({ data }) => Object.keys(data)));
    const rows = group.flatMap(({ readings }, index) =>
      readings.map((reading) => JSON.stringify({ device: deviceOf(index), ...reading })),
    );
    await importInto(
      shard,
      fileOf('cases.ndjson', `${rows.join('\n')}\n`),
      {
        time: { column: 'event_time' },
        device: { column: 'device' },
        source: { column: 'source' },
        fields: Object.fromEntries(names.map((name) => [`/data/${name}`, name])),
      },
      { workgroup: testWorkgroup({ timezone }) },
    );
    await rollUpSite(shard, { timezone, streams: energyStreams });
    for (const [index, { id, expected }] of group.entries())
      expect.soft(await energyByDay(shard, deviceOf(index)), id).toEqual(expected);
  },
);
