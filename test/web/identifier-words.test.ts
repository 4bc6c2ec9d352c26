import { expect, test } from 'vitest';
import { identifierWords } from '../../src/web/words/identifier-words.ts';

test('an identifier becomes words', () => {
  expect(['grid_export', 'read_by_hand_twice', 'pv'].map(identifierWords)).toEqual([
    'grid export',
    'read by hand twice',
    'pv',
  ]);
});
