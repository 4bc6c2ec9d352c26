import { expect, test } from 'vitest';
import { FlagList } from '../../src/web/parts/flag-list.tsx';
import { renderPart } from './support/render-part.ts';

const drawn = (...flags: string[]) => renderPart(FlagList, { flags });

test('a day without flags says so', () => {
  expect(drawn().lines).toEqual(['none']);
});

test('each flag is shown once, the worst first, with its meaning', () => {
  const part = drawn('reset', 'partial', 'contradicted', 'reset');
  expect(part.lines).toEqual([
    'contradicted <contradicted: two methods disagree>partly measured <partly measured (partial): only a part of the day is measured>reset <reset: the register started again>',
  ]);
  expect(part.elements('span').map((span) => span.class)).toEqual([
    'flags',
    'flag flag-bad',
    'flag flag-doubtful',
    'flag flag-noted',
  ]);
});

test('a flag that the page does not know is doubtful', () => {
  const part = drawn('spike', 'new_flag', 'estimated', 'incomplete');
  expect(part.elements('span').map(({ class: name, title }) => [name, title])).toEqual([
    ['flags', undefined],
    ['flag flag-bad', 'incomplete: a source is missing'],
    ['flag flag-doubtful', 'estimated: begins or ends in a silence'],
    ['flag flag-doubtful', 'new flag'],
    ['flag flag-noted', 'spike: impossibly high readings are left out'],
  ]);
});
