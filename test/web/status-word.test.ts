import { expect, test } from 'vitest';
import { StatusWord } from '../../src/web/parts/status-word.tsx';
import { renderPart } from './support/render-part.ts';

test.each([
  ['provisional', 'it can still change'],
  ['final', 'its period is closed'],
  ['restated', 'it has changed since its period was closed'],
] as const)('the status %s has its meaning', (status, title) => {
  const part = renderPart(StatusWord, { status });
  expect(part.lines).toEqual([`${status} <${title}>`]);
  expect(part.elements('span')).toEqual([{ class: `status status-${status}`, title }]);
});
