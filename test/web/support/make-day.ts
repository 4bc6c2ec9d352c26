import type { DayOfSeries } from '../../../src/web/facts/answers.ts';

/** A day of a series as the service answers it: final, measured as a whole, without flags. */
export function makeDay(energyWh: number | null, changed: Partial<DayOfSeries> = {}): DayOfSeries {
  return {
    energyWh,
    methods: ['total_energy'],
    flags: [],
    coverage: 1,
    status: 'final',
    version: 1,
    computedAt: '2026-05-17T06:00:00.000Z',
    ...changed,
  };
}
