import { expect, test } from 'vitest';
import type { Gaps } from '../../src/web/facts/answers.ts';
import { PipelineGaps } from '../../src/web/pages/pipeline-gaps.tsx';
import { renderPart } from './support/render-part.ts';

type Gap = Gaps['gaps'][number];
const lost: Gap = {
  id: 4,
  reason: 'not_kept',
  from: '2026-05-16T22:00:00.000Z',
  to: '2026-05-17T00:05:00.000Z',
  detectedAt: '2026-05-17T00:05:01.000Z',
  available: 'nothing',
  note: 'the upstream no longer has these messages',
};
const shown = (gaps: Gap[], total = gaps.length) =>
  renderPart(PipelineGaps, {}, { gaps: { gaps, total } }).lines;

test('without a gap it says that everything was read', () => {
  expect(shown([])).toEqual(['Gaps of the stream', 'No gap', 'Everything that the stream had was read.']);
});

test('each gap has its times, its length, its reason, and whether it can be filled', () => {
  const gaps: Gap[] = [
    lost,
    { ...lost, id: 3, from: null, available: 'unknown', note: null },
    { ...lost, id: 2, to: null, available: 'part' },
    { ...lost, id: 1, to: '2026-05-16T22:00:12.000Z', available: 'all', reason: '', note: 'a restart' },
  ];
  const [from, to] = ['May 17, 2026, 00:00', 'May 17, 2026, 02:05'];
  const why = 'not kept: the upstream no longer has these messages';
  expect(shown(gaps, 204)).toEqual([
    'Gaps of the stream',
    '204 gaps are open. 2 can be filled by a backfill of the gaps, below. 1 cannot be filled any more; import the data from another source.',
    'Gaps, newest first',
    'Gap | From | To | Length | Can it be filled? | Why',
    `4 | ${from} | ${to} | 2 h 5 min {7500000} | [bad] cannot be filled any more | ${why}`,
    `3 | – | ${to} | – | [calm] not known if it can be filled | not kept`,
    `2 | ${from} | – | – | [doubtful] can be filled in part | ${why}`,
    `1 | ${from} | ${from} | 12 s {12000} | [noted] can be filled | a restart`,
    '<Gaps, newest first>',
  ]);
});

test.each<[Gap['available'], string]>([
  ['unknown', '1 gap is open.'],
  ['part', '1 gap is open. 1 can be filled by a backfill of the gaps, below.'],
  ['nothing', '1 gap is open. 1 cannot be filled any more; import the data from another source.'],
])('the sentence of one gap of which the upstream has %s', (available, words) => {
  expect(shown([{ ...lost, available }])[1]).toBe(words);
});
