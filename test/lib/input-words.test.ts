import { expect, test } from 'vitest';
import { nearest } from '../../src/lib/input-words.ts';

test.each([
  ['maxPwoer', ['maxPower', 'maxGap'], 'maxPower'],
  ['tabel', ['table', 'label'], 'label'],
  ['TABLE', ['label', 'table'], 'table'],
  ['maxPwer', ['maxPowers', 'maxPower'], 'maxPower'],
  ['abc', ['abd', 'abcd'], 'abd'],
  ['ab', ['ac'], undefined],
  ['interval', ['direction'], undefined],
])(
  'of "%s" and %j the nearest is %s: two letters differ at most, and a third of a name',
  (written, names, name) => {
    expect(nearest(written, names)).toBe(name);
  },
);
