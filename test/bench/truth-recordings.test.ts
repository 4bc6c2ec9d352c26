import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readRecordings } from '../../bench/check-real/recordings.ts';
import { writeCase } from '../../bench/truth/case-folder.ts';
import { configurations } from '../../bench/truth/configurations.ts';
import { faults } from '../../bench/truth/faults/all.ts';
import type { Fault } from '../../bench/truth/faults/fault.ts';
import { type Display, stepWhOf } from '../../bench/truth/plan.ts';
import { createRecording, faultsOf } from '../../bench/truth/recording.ts';
import { intervalOf } from '../../bench/truth/samples.ts';
import { rounds, sampled } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';

const SEED = 7;
const numbers = Array.from({ length: 90 }, (_, number) => number);
const clean = sampled(numbers, 3).map((number) => createRecording(SEED, number, []));
const withField = (field: string) => clean.filter(({ plan }) => plan.fields.includes(field as never));
const whOf = (value: unknown, { unit }: Display) => Number(value) * (unit === 'kWh' ? 1_000 : 1);

describe('the truth of a clean recording', () => {
  test('adds up: the days are what the curve has counted from the first to the last', () => {
    for (const { plan, days } of clean) {
      const wholeWh = days.reduce((sum, { highWh }) => sum + highWh, 0);
      const countedWh = plan.curve.energyWh(days[0]!.startMs, days.at(-1)!.endMs);
      expect(wholeWh / countedWh).toBeCloseTo(1, 9);
      expect(days.filter(({ lowWh, highWh }) => lowWh < 0 || lowWh > highWh + 1e-6)).toEqual([]);
    }
  });

  test('is the area under the power', () => {
    const { curve, days } = clean[0]!.plan;
    const { startMs, endMs } = days[2]!;
    let wattSeconds = 0;
    for (let ms = startMs; ms < endMs; ms += 1_000) wattSeconds += curve.powerW(ms + 500);
    expect(curve.energyWh(startMs, endMs)).toBeCloseTo(wattSeconds / 3_600, 3);
  });

  test('is the growth of a lifetime register, except for one step of it', () => {
    const recordings = withField('total');
    expect(recordings.length).toBeGreaterThan(rounds(6, 20));
    for (const { plan, readings } of recordings) {
      const [first, last] = [readings[0]!, readings.at(-1)!];
      const grownWh = whOf(last.data.total, plan.total) - whOf(first.data.total, plan.total);
      const trueWh = plan.curve.energyWh(first.stampMs, last.stampMs);
      expect(Math.abs(grownWh - trueWh)).toBeLessThanOrEqual(stepWhOf(plan.total) + 1e-3);
    }
  });

  test('is what a load profile adds up to', () => {
    const recordings = withField('energy').filter(({ plan }) => !plan.sleeps);
    expect(recordings.length).toBeGreaterThan(rounds(0, 3));
    for (const { plan, readings } of recordings) {
      const sumWh = readings.reduce((sum, { data }) => sum + whOf(data.energy, plan.total), 0);
      const { fromMs } = intervalOf(plan, readings[0]!.stampMs);
      const { toMs } = intervalOf(plan, readings.at(-1)!.stampMs);
      expect(Math.abs(sumWh - plan.curve.energyWh(fromMs, toMs))).toBeLessThanOrEqual(
        stepWhOf(plan.total) + 1e-3,
      );
    }
  });
});

describe('a clean recording', () => {
  test('has no fault: values that are numbers, stamps and registers that grow, in order, all days knowable', () => {
    for (const { plan, readings, days, happened } of clean) {
      expect(happened).toEqual([]);
      expect(days.filter(({ isKnowable, isSeen }) => !isKnowable || !isSeen)).toEqual([]);
      const values = readings.flatMap(({ data }) => Object.values(data));
      expect(values.filter((value) => typeof value !== 'number' || value < 0)).toEqual([]);
      const disordered = readings.filter(({ stampMs, data }, index) => {
        const before = readings[index - 1];
        return (
          before && (stampMs <= before.stampMs || Number(data.total ?? 0) < Number(before.data.total ?? 0))
        );
      });
      expect(disordered).toEqual([]);
      const mostW = Math.max(0, ...readings.map(({ data }) => Number(data.power ?? 0)));
      expect(mostW * (plan.powerUnit === 'kW' ? 1_000 : 1)).toBeLessThanOrEqual(plan.device.installedW + 1);
    }
  });

  test('has a daily register that starts from zero on each day', () => {
    for (const { plan, readings } of withField('daily')) {
      const falls = readings.filter(
        ({ data }, index) => Number(data.daily) < Number(readings[index - 1]?.data.daily ?? 0),
      );
      expect(falls.length).toBeLessThanOrEqual(plan.days.length);
    }
  });

  test('is drawn for two of nine numbers', () => {
    expect(numbers.filter((number) => faultsOf(SEED, number).length === 0)).toHaveLength(20);
  });
});

test('the same seed and number give the same bytes, another seed others', async () => {
  const digestOf = async (seed: number) => {
    const folder = await writeCase(createRecording(seed, 17), tempDir());
    const files = readdirSync(folder).sort();
    expect(files).toEqual(['case.json', 'expected.csv', 'readings.csv.gz']);
    return files.map((file) =>
      createHash('sha256')
        .update(readFileSync(join(folder, file)))
        .digest('hex'),
    );
  };
  const [one, again, other] = [await digestOf(1), await digestOf(1), await digestOf(2)];
  expect(again).toEqual(one);
  expect(other.filter((digest, index) => digest === one[index])).toEqual([]);
});

test('a case that is written can be read as a recording with what is known of it', async () => {
  const recording = createRecording(1, 3);
  const folder = await writeCase(recording, tempDir());
  const [{ replay, expected }] = (await readRecordings(folder)) as [never];
  const { name, readings } = replay as { name: string; readings: () => AsyncIterable<unknown> };
  expect(name).toBe(recording.id);
  let count = 0;
  for await (const _ of readings()) count++;
  expect(count).toBe(recording.readings.length);
  expect(expected).toHaveLength(recording.days.filter(({ isKnowable }) => isKnowable).length);
});

/** Faults that the plan of a recording has already, so that `apply` changes nothing. */
const plannedOnly = ['daily: end of day lost', 'daily: resets elsewhere', 'hourly with jitter'];

describe.each(faults.map((fault) => [fault.name, fault] as const))('%s', (_name, fault) => {
  /** The fault is planned, but does nothing. */
  const idle: Fault = { ...fault, apply: () => [] };
  const pairs = sampled([11, 12, 13], 2).map((number) => ({
    faulty: createRecording(SEED, number, [fault]),
    sound: createRecording(SEED, number, [idle]),
  }));

  test('fits the configuration that is drawn, says when it happened, and leaves the truth as it is', () => {
    for (const { faulty, sound } of pairs) {
      expect(fault.fits(faulty.plan.fields)).toBe(true);
      expect(faulty.happened.length).toBeGreaterThan(0);
      for (const [index, { highWh }] of faulty.days.entries())
        if (fault.name !== 'two devices') expect(highWh).toBe(sound.days[index]!.highWh);
    }
  });

  test.skipIf(plannedOnly.includes(fault.name))('changes what is sent', () => {
    const changed = pairs.filter(
      ({ faulty, sound }) => JSON.stringify(faulty.readings) !== JSON.stringify(sound.readings),
    );
    expect(changed.length).toBeGreaterThan(0);
  });
});

describe('a day can be known', () => {
  const faultOf = (name: string) => faults.find((fault) => fault.name === name)!;
  /** The first recording with that fault and configuration, whatever its limit. */
  const find = (name: string, configuration: string) => {
    for (let number = 0; number < 500; number++) {
      const recording = createRecording(SEED, number, [faultOf(name)]);
      if (recording.plan.configuration === configuration) return recording;
    }
    throw new Error(`${name} never happens to ${configuration}`);
  };
  const unknownOf = (name: string, configuration: string) =>
    find(name, configuration).days.filter(({ isKnowable }) => !isKnowable);

  test('beside a fault of a register, by the register after it or by power', () => {
    expect(unknownOf('zeros by day', 'total')).toEqual([]);
    expect(unknownOf('unit changes for good', 'total')).toEqual([]);
    expect(unknownOf('frozen for good', 'total + power')).toEqual([]);
    expect(unknownOf('daily: end of day lost', 'daily + power')).toEqual([]);
  });

  test('not where the only readings of it are lost or of two devices', () => {
    const gap = find('gap of a day', 'power');
    const { fromMs, toMs } = gap.happened[0]!;
    const lost = gap.days.filter(({ isKnowable }) => !isKnowable);
    expect(lost.length).toBeGreaterThan(0);
    expect(lost.filter(({ startMs, endMs }) => endMs <= fromMs || startMs >= toMs)).toEqual([]);
    expect(unknownOf('two devices', 'total').length).toBeGreaterThan(2);
  });

  test('not where a register stands still for good, and then nobody sees it', () => {
    const unknown = unknownOf('frozen for good', 'total');
    expect(unknown.length).toBeGreaterThan(0);
    expect(unknown.filter(({ isSeen }) => isSeen)).toEqual([]);
    expect(unknownOf('power stuck', 'power').filter(({ isSeen }) => !isSeen)).toEqual([]);
  });

  test('no closer than the steps of the register', () => {
    const coarse = withField('total').filter(({ plan }) => stepWhOf(plan.total) === 1_000);
    expect(coarse.length).toBeGreaterThan(rounds(0, 3));
    for (const { days } of coarse) expect(days.every(({ allowanceWh }) => allowanceWh >= 1_000)).toBe(true);
  });
});

test('every configuration can have a fault', () => {
  for (const fields of Object.values(configurations))
    expect(faults.filter((fault) => fault.fits(fields)).length).toBeGreaterThan(8);
});
