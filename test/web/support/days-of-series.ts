import type { DayOfSeries } from '../../../src/web/facts/answers.ts';

export const roof = '0b0e7c1e-0000-4000-8000-000000000001';
export const shed = '0b0e7c1e-0000-4000-8000-000000000002';
export const today = '2026-11-22';

/** A complete day of a series, unless `more` says otherwise. */
export function dayOfSeries(energyWh: number | null, more: Partial<DayOfSeries> = {}): DayOfSeries {
  return {
    energyWh,
    methods: ['total_energy'],
    flags: [],
    coverage: 1,
    status: 'final',
    version: 1,
    computedAt: '2026-11-22T00:00:00.000Z',
    ...more,
  };
}
