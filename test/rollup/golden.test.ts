import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { EnergyStreamInput } from '../../src/energy-stream.ts';
import { openTestShard } from '../warehouse/support.ts';
import { type CaseReading, energyByDay, energyRows, landReadings, rollUpSite } from './support.ts';

interface GoldenCase {
  id: string;
  timezone: string;
  energyStreams: EnergyStreamInput[];
  readings: CaseReading[];
  expected: Record<string, number>;
  note: string;
}

const cases: GoldenCase[] = JSON.parse(
  readFileSync(new URL('../golden/energy-cases.json', import.meta.url), 'utf8'),
);

describe('golden cases, each worked out by hand', () => {
  test.each(cases.map((one) => [one.id, one.note, one] as const))('%s: %s', async (_id, _note, one) => {
    const site = { timezone: one.timezone, streams: one.energyStreams };
    const whole = await openTestShard();
    await landReadings(whole, one.readings);
    await rollUpSite(whole, site);
    expect(await energyByDay(whole)).toEqual(one.expected);

    // One reading at a time, the last one first, rolled up after each: the same rows.
    const pieces = await openTestShard();
    for (const reading of one.readings.toReversed()) {
      await landReadings(pieces, [reading]);
      await rollUpSite(pieces, site);
    }
    expect(await energyRows(pieces)).toEqual(await energyRows(whole));
  });
});
