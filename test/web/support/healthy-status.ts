import type { PipelineStatus } from '../../../src/web/facts/answers.ts';

const works = { lastError: null, failingSince: null };

/** The state of a pipeline in which all is well, at 12:00 in Berlin on May 17, 2026. */
export const healthyStatus: PipelineStatus = {
  workgroup: 'home',
  timezone: 'Europe/Berlin',
  state: 'running',
  health: 'good',
  reason: 'all is well',
  findings: [],
  updatedAt: '2026-05-17T09:59:58.000Z',
  stages: {
    poll: {
      ...works,
      lastSuccessAt: '2026-05-17T09:59:50.000Z',
      nextOffset: '42',
      transport: 'rest',
      upToDate: true,
      lagMessages: 0,
      lagSeconds: 0,
    },
    rollup: { ...works, lastSuccessAt: '2026-05-17T09:58:00.000Z', batchId: '17' },
    publish: { ...works, lastSuccessAt: '2026-05-17T09:57:00.000Z', generation: 1_012 },
    maintain: { ...works, lastSuccessAt: '2026-05-17T07:00:00.000Z' },
  },
  lagSeconds: 0,
  lastHour: { messages: 3_600, quarantined: 0 },
  newestReadingAt: '2026-05-17T09:56:00.000Z',
  gaps: 0,
  quarantined: 4,
  storedMessages: 120_000,
  devices: null,
  troubles: [],
  problems: [],
};
