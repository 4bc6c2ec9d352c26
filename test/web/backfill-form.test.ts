import { expect, test } from 'vitest';
import { BackfillForm } from '../../src/web/pages/backfill-form.tsx';
import { renderPart } from './support/render-part.ts';

test('the form begins with the gaps, which need no days, and shows a plan first', () => {
  const part = renderPart(BackfillForm, { onClose: () => undefined, onStarted: () => undefined });
  expect(part.lines).toEqual([
    'Read the past again',
    'What',
    '*all gaps that can still be filled days of the stream days of what is stored, with the current settings',
    '[Show what would be read][Close]',
  ]);
  expect(part.elements('option').map(({ value }) => value)).toEqual(['gaps', 'stream', 'archive']);
});
