import { expect, test } from 'vitest';
import { knownText, meantText } from '../../src/report/known-names.ts';

const names = (count: number) => Array.from({ length: count }, (_, index) => `M${index + 1}`);

test('the first twenty names are listed, and the number of the others', () => {
  expect(knownText('meters', names(2))).toBe('the meters are M1, M2');
  expect(knownText('meters', names(20))).toBe(`the meters are ${names(20).join(', ')}`);
  expect(knownText('meters', names(22))).toBe(`the meters are ${names(20).join(', ')} and 2 more`);
  expect(knownText('meters', [])).toBe('there are no meters that the token may see');
});

test('a name that is nearly the same is asked for, also one that is not listed', () => {
  expect(meantText('garaje', 'devices', ['garage', 'roof'])).toBe(
    'is it garage? The devices are garage, roof',
  );
  expect(meantText('ruof', 'devices', ['garage'], ['roof'])).toBe('is it roof? The devices are garage');
  expect(meantText('cellar', 'devices', ['garage'])).toBe('the devices are garage');
  expect(meantText('roof2', 'devices', [], ['roof'])).toBe(
    'is it roof? There are no devices that the token may see',
  );
});
