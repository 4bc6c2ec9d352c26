import { expect, test } from 'vitest';
import { type StateKind, StateWord } from '../../src/web/parts/state-word.tsx';
import { renderPart } from './support/render-part.ts';

const kinds: StateKind[] = ['good', 'noted', 'doubtful', 'bad', 'calm'];
const drawn = (kind: StateKind) => renderPart(StateWord, { kind, children: 'as it is' });

test('a state is its words with a sign', () => {
  expect(kinds.flatMap((kind) => drawn(kind).lines)).toEqual(kinds.map((kind) => `[${kind}] as it is`));
});

test('signs differ by their shape, and screen readers skip them', () => {
  const shapes = new Set(kinds.map((kind) => drawn(kind).elements('path')[0]!.d));
  expect(shapes.size).toBe(kinds.length);
  expect(drawn('good').elements('svg')[0]).toMatchObject({ 'aria-hidden': 'true' });
});
