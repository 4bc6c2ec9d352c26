import { expect, test } from 'vitest';
import type { EnergyMethod } from '../../src/config/energy-stream.ts';
import { describeLimits, type LimitsRow } from '../../src/explain/explain-limits.ts';
import type { ExplainedLimits } from '../../src/explain/explained-schema.ts';

/** Nothing is configured, and nothing is learnt yet. */
const unknown: LimitsRow = {
  max_power_w: 100_000_000,
  jitter_wh: 2,
  modulus_wh: null,
  reading_interval_ms: 900_000,
  max_gap_ms: 600_000,
  net: false,
  configured_power_w: null,
  max_power_after_reset_w: null,
  configured_jitter_wh: null,
  configured_interval_ms: null,
  configured_gap_ms: null,
  resolution: null,
  step_ms: null,
  days: 0,
  learnt_power_w: null,
  first_day: null,
  last_day: null,
};
const learnt: LimitsRow = {
  ...unknown,
  max_power_w: 40_000,
  jitter_wh: 20,
  reading_interval_ms: 300_000,
  max_gap_ms: 900_000,
  max_power_after_reset_w: 10_000,
  resolution: 10,
  step_ms: 300_000,
  days: 3,
  learnt_power_w: 10_000,
  first_day: '2026-11-16',
  last_day: '2026-11-18',
};
const configured: LimitsRow = {
  ...learnt,
  max_power_w: 5_000,
  configured_power_w: 5_000,
  configured_jitter_wh: 20,
  resolution: null,
  modulus_wh: 1_000_000,
  configured_interval_ms: 300_000,
  configured_gap_ms: 900_000,
};
const learntDays = 'learnt from 3 days, 2026-11-16 to 2026-11-18 (UTC)';
const asConfigured = (value: number) => ({ value, from: 'configured', text: 'configured' });
const none = (text: string) => ({ value: null, from: 'none', text });

function shown(
  row: LimitsRow,
  method: EnergyMethod,
  sampling: 'instantaneous' | 'interval_average' = 'instantaneous',
) {
  return describeLimits(row, method, sampling);
}

test.each<[about: string, row: LimitsRow, limits: object]>([
  [
    'that knows nothing',
    unknown,
    {
      maxPowerW: { value: 100_000_000, from: 'default', text: expect.stringContaining('too few readings') },
      jitterWh: { value: 2, from: 'default', text: 'too few values are known to learn it' },
      resolutionWh: none('not learnt: too few values are known, or the jitter is configured'),
      modulusWh: none('not declared'),
    },
  ],
  [
    'that has learnt',
    learnt,
    {
      maxPowerW: {
        value: 40_000,
        from: 'learnt',
        text: `32 times the usual power of its busier days, at least 50,000 W; after a restart 10,000 W; ${learntDays}`,
      },
      jitterWh: { value: 20, from: 'learnt', text: '2 times its resolution' },
      resolutionWh: { value: 10, from: 'learnt', text: learntDays },
      modulusWh: none('not declared'),
    },
  ],
  [
    'that is configured',
    configured,
    {
      maxPowerW: asConfigured(5_000),
      jitterWh: asConfigured(20),
      resolutionWh: { value: null, from: 'none' },
      modulusWh: asConfigured(1_000_000),
    },
  ],
  [
    'that counts both directions',
    { ...learnt, net: true },
    { maxPowerW: none('a net register can rise and fall without limit') },
  ],
  [
    'that has learnt from one day',
    { ...learnt, days: 1, first_day: '2026-11-18' },
    { resolutionWh: { text: 'learnt from the day 2026-11-18 (UTC)' } },
  ],
])('the limits of a register %s', (_, row, limits) => {
  for (const method of ['total_energy', 'daily_energy'] as const) {
    expect(shown(row, method)).toMatchObject(limits);
    expect(shown(row, method)).toMatchObject({
      maxGapMilliseconds: none('only power that is sampled at instants has one'),
      intervalMilliseconds: none('only readings of intervals have one'),
    });
  }
});

test.each<[about: string, row: LimitsRow, maxGap: object, interval: object]>([
  [
    'not known yet',
    unknown,
    { value: 600_000, from: 'default', text: 'the usual step is not known yet' },
    { value: 900_000, from: 'default', text: 'the usual step is not known yet' },
  ],
  [
    'learnt',
    learnt,
    {
      value: 900_000,
      from: 'learnt',
      text: `3 times the usual step of 5 min, at most 1 h, or 1.5 steps if they are longer; ${learntDays}`,
    },
    { value: 300_000, from: 'learnt', text: `the usual step; ${learntDays}` },
  ],
  ['configured', configured, asConfigured(900_000), asConfigured(300_000)],
])('the step of power and of intervals is %s', (_, row, maxGap, interval) => {
  const [noGap, noInterval] = [
    none('only power that is sampled at instants has one'),
    none('only readings of intervals have one'),
  ];
  const stepsOf = ({ maxGapMilliseconds, intervalMilliseconds }: ExplainedLimits) => [
    maxGapMilliseconds,
    intervalMilliseconds,
  ];
  expect(stepsOf(shown(row, 'power_curve'))).toEqual([maxGap, noInterval]);
  expect(stepsOf(shown(row, 'power_curve', 'interval_average'))).toEqual([noGap, interval]);
  expect(stepsOf(shown(row, 'interval_energy'))).toEqual([noGap, interval]);
  expect(shown(row, 'power_curve')).toMatchObject({
    jitterWh: none('only registers have one'),
    resolutionWh: none('only registers have one'),
  });
});

test('power that is not learnt has no limit, and one that is learnt says for which readings it counts', () => {
  expect(shown({ ...unknown, max_power_w: null }, 'power_curve').maxPowerW).toEqual(
    none('not configured, and not learnt: every value is possible'),
  );
  expect(shown({ ...unknown, max_power_w: null }, 'total_energy').maxPowerW).toEqual(
    none('not configured, and not learnt: every rise is possible'),
  );
  expect(shown(learnt, 'power_curve').maxPowerW).toMatchObject({
    from: 'learnt',
    text: `8 times the most that is usual on its busier days, at least 50,000 W, and only for readings that stand alone; ${learntDays}`,
  });
  expect(shown({ ...learnt, max_power_after_reset_w: null }, 'total_energy').maxPowerW.text).not.toContain(
    'restart',
  );
});
