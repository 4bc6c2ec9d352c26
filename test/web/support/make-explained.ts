import type { Explained, ExplainedSource } from '../../../src/web/facts/answers.ts';

const midnight = '2026-05-15T22:00:00.000Z';
const end = '2026-05-16T22:00:00.000Z';

/** The explanation of one source: 500 Wh of a register, without any reading. */
export function makeSource(changed: Partial<ExplainedSource>): ExplainedSource {
  return {
    source: 'total',
    result: {
      energyWh: 500,
      method: 'total_energy',
      table: 'meter',
      field: 'energy',
      status: 'final',
      version: 1,
      computedAt: '2026-05-16T22:05:00.000Z',
      coverage: 1,
      flags: [],
    },
    streams: [],
    limits: null,
    readings: [],
    readingsLeftOut: 0,
    events: [],
    boundaries: null,
    segments: [],
    parts: [],
    partsLeftOut: 0,
    intervals: [],
    coverage: { coveredMilliseconds: 86_400_000, uncovered: [], text: 'all of the day' },
    flags: [],
    versions: [],
    corrections: [],
    measuredWh: 500,
    sum: { energyWh: 500, exactWh: null, agrees: true, text: '1,500 − 1,000 = 500 Wh' },
    ...changed,
  };
}

/** The explanation of the device Garage on May 16, 2026 in Berlin. */
export function makeExplained(changed: Partial<Explained>): Explained {
  return {
    workgroup: 'home',
    timezone: 'Europe/Berlin',
    device: '0b0e7c1e-0000-4000-8000-000000000001',
    name: 'Garage',
    day: '2026-05-16',
    start: midnight,
    end,
    hours: 24,
    outcome: 'explained',
    text: 'It is 500 Wh.',
    takenIn: { batch: 'b1', batchesWaiting: 0 },
    energyWh: 500,
    countingSources: ['total'],
    wholeDevice: null,
    sources: [makeSource({})],
    known: [],
    nearestDays: { before: null, after: null },
    ...changed,
  };
}
