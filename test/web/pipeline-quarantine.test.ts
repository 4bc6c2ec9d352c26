import { expect, test } from 'vitest';
import type { QuarantineAnswer } from '../../src/web/facts/answers.ts';
import { PipelineQuarantine } from '../../src/web/pages/pipeline-quarantine.tsx';
import { renderPart } from './support/render-part.ts';

const GARAGE = '0b0e7c1e-0000-4000-8000-000000000001';
const statuses = { [GARAGE]: { name: 'Garage' } };

const message: QuarantineAnswer['groups'][number] = {
  kind: 'message',
  reason: 'not_cbor',
  count: 3,
  devices: 0,
  firstAt: '2026-05-16T08:00:00.000Z',
  lastAt: '2026-05-17T08:10:00.000Z',
  samples: [
    {
      device: null,
      source: null,
      field: null,
      eventTime: null,
      detail: 'the head is cut off',
      text: 'a1f0',
      encoding: 'hex',
      bytes: 2,
    },
  ],
};
const reading: QuarantineAnswer['groups'][number] = {
  kind: 'reading',
  reason: 'not_a_number',
  count: 1,
  devices: 1,
  firstAt: '2026-05-17T08:00:00.000Z',
  lastAt: '2026-05-17T08:00:00.000Z',
  samples: [
    {
      device: GARAGE,
      source: 'total',
      field: 'energy',
      eventTime: '2026-05-17T08:00:00.000Z',
      detail: null,
      text: '"n/a"',
      encoding: 'text',
      bytes: null,
    },
  ],
};
const setAside = [
  {
    device: GARAGE,
    source: 'total',
    field: 'energy',
    since: '2026-05-17T06:00:00.000Z',
    error: 'out of range',
  },
];

const shown = (answer: QuarantineAnswer, changed = {}) =>
  renderPart(PipelineQuarantine, {}, { quarantine: answer, 'device-status': statuses }, changed).lines;

test('an empty quarantine says so', () => {
  expect(shown({ total: 0, groups: [], setAside: [] })).toEqual([
    'Quarantine',
    'Nothing is set aside',
    'Every message and every value could be used.',
  ]);
});

test('each reason has its count, its time and samples as they were received', () => {
  expect(shown({ total: 4, groups: [message, reading], setAside: [] })).toEqual([
    'Quarantine',
    '4 messages and values could not be used.',
    'not cbor: 3 messages',
    'From May 16, 2026, 10:00 to May 17, 2026, 10:10. Some of them:',
    'Samples of not cbor',
    'Device | Field | Time | As received | Problem',
    'not named | – | – | a1f0 hexadecimal, 2 bytes | the head is cut off',
    '<Samples of not cbor>',
    'not a number: 1 value of 1 device',
    'From May 17, 2026, 10:00 to May 17, 2026, 10:00.',
    'Samples of not a number',
    'Device | Field | Time | As received | Problem',
    'Garage · total | energy | May 17, 2026, 10:00 | "n/a" |',
    '<Samples of not a number>',
    '[Try all of it again]',
  ]);
});

test('a series that is set aside has its error, even if nothing else is in the quarantine', () => {
  expect(shown({ total: 0, groups: [], setAside })).toEqual([
    'Quarantine',
    '1 series cannot be computed.',
    'Series that cannot be computed',
    'Series that cannot be computed',
    'Source | Field | Since | Why',
    `Garage · total {#/home/devices?device=${GARAGE}} | energy | May 17, 2026, 08:00 | out of range`,
    '<Series that cannot be computed>',
    '[Try all of it again]',
  ]);
});

test('only an operator can have it tried again', () => {
  const answer = { total: 0, groups: [], setAside };
  const reader = { id: 'home', maySeeAll: true, mayCorrect: true, mayOperate: false, mayAudit: true };
  expect(shown(answer, { workgroup: reader })).toEqual(shown(answer).slice(0, -1));
});
