import { expect, test } from 'vitest';
import type { PlannedBackfill } from '../../src/web/facts/answers.ts';
import { BackfillPreview } from '../../src/web/pages/backfill-preview.tsx';
import { renderPart } from './support/render-part.ts';

const piece = {
  from: '2026-05-16T08:00:00.000Z',
  to: '2026-05-16T09:00:00.000Z',
  gap: null,
  messagesExpected: null,
};
const plan: PlannedBackfill = {
  source: 'stream',
  messages: 36_000,
  requests: 0,
  days: [],
  dayCount: 0,
  pieces: [],
  notes: [],
  unfillable: [],
  quarantined: null,
};
const shown = (changed: Partial<PlannedBackfill>) =>
  renderPart(BackfillPreview, { plan: { ...plan, ...changed } }).lines;
const daysUntil = (last: number) =>
  Array.from({ length: last }, (_, index) => `2026-05-${String(index + 1).padStart(2, '0')}`);

test.each<[Partial<PlannedBackfill>, string]>([
  [{}, '36,000 messages'],
  [{ messages: 1, requests: 1, pieces: [piece] }, '1 message with at least 1 request'],
  [{ messages: null, requests: 15 }, 'an unknown number of messages with at least 15 requests'],
  [{ days: daysUntil(1), dayCount: 1 }, '36,000 messages, of 1 day (May 1)'],
  [
    { days: daysUntil(6), dayCount: 6, pieces: [piece, piece] },
    '36,000 messages, of 6 days (May 1, May 2, May 3, May 4, May 5 and May 6), in 2 pieces',
  ],
  [
    { days: daysUntil(7), dayCount: 7 },
    '36,000 messages, of 7 days (May 1, May 2, May 3, May 4, May 5, May 6 …)',
  ],
  // The service lists only the first days.
  [
    { days: daysUntil(6), dayCount: 40 },
    '36,000 messages, of 40 days (May 1, May 2, May 3, May 4, May 5, May 6 …)',
  ],
])('a plan says what would be read: %#', (changed, words) => {
  expect(shown(changed)).toEqual([`This would read ${words}. Nothing is read yet.`]);
});

test('a plan says what can be decoded, what is missing, and which gaps stay', () => {
  const { lines } = renderPart(BackfillPreview, {
    plan: {
      ...plan,
      quarantined: { kept: 1_200, readable: 3 },
      notes: ['The stream begins on May 2.'],
      unfillable: [{ gap: 4, note: 'the upstream no longer has it' }],
    },
  });
  expect(lines.slice(1)).toEqual([
    '3 of 1,200 messages of the quarantine can be decoded now.',
    'The stream begins on May 2.',
    'Gap 4 cannot be filled: the upstream no longer has it',
  ]);
});
