import { expect, test } from 'vitest';
import type { Explained, ExplainedSource } from '../../src/web/facts/answers.ts';
import { CorrectionPanel } from '../../src/web/pages/correction-panel.tsx';
import { renderPart } from './support/render-part.ts';

type Correction = ExplainedSource['corrections'][number];
const correction: Correction = {
  id: 7,
  kind: 'exclude',
  from: '2026-05-16T08:00:00.000Z',
  to: '2026-05-16T09:00:00.000Z',
  energyWh: null,
  undoes: null,
  undoneBy: null,
  reason: 'the meter was replaced',
  author: 'token:5f0c9c0e ada',
  at: '2026-05-17T07:30:00.000Z',
  beforeWh: 1,
  afterWh: 2,
  text: 'leaves readings out',
};
const drawn = (corrections: Correction[], mayCorrect = true) =>
  renderPart(
    CorrectionPanel,
    {
      explained: { start: correction.from, end: correction.to } as Explained,
      source: { corrections } as ExplainedSource,
      picked: undefined,
      onDone: () => undefined,
    },
    {},
    { workgroup: { id: 'home', maySeeAll: true, mayCorrect, mayOperate: true, mayAudit: true } },
  );
const words = ['7 leaves readings out', '“the meter was replaced” – ada, May 17, 2026, 09:30'];
const kinds = '[Leave readings out][Set the energy of the day][Estimate what is missing]';

test('a day without corrections can be corrected, and a reader does not see that it has none', () => {
  expect(drawn([]).lines).toEqual(['Corrections', 'Nobody has corrected this day.', kinds]);
  expect(drawn([], false).lines).toEqual([]);
});

test('a correction has its reason, its author and its time, and can be undone', () => {
  expect(drawn([correction]).lines).toEqual(['Corrections', ...words, '[Undo correction 7]', kinds]);
  expect(drawn([correction], false).lines).toEqual(['Corrections', ...words]);
});

test('what is undone, and an undo, cannot be undone', () => {
  const undo: Correction = { ...correction, id: 8, kind: 'undo', undoes: 7, text: 'undoes 7', author: 'bob' };
  const part = drawn([undo, { ...correction, undoneBy: 8 }]);
  expect(part.lines).toEqual([
    'Corrections',
    '8 undoes 7',
    '“the meter was replaced” – bob, May 17, 2026, 09:30',
    '7 leaves readings out (undone)',
    words[1],
    kinds,
  ]);
  expect(part.elements('li').map((entry) => entry.class)).toEqual(['', 'undone']);
});
