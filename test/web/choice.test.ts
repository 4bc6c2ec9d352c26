import { expect, test } from 'vitest';
import { Choice, Select } from '../../src/web/parts/choice.tsx';
import { renderPart } from './support/render-part.ts';

const options = [
  { key: 'day', name: 'By day', href: '#day' },
  { key: 'hour', name: 'By hour', href: '#hour' },
];

test('a choice is a list of links, and the chosen one is marked', () => {
  const part = renderPart(Choice, { label: 'Length', options, chosen: 'hour' });
  expect(part.lines).toEqual(['By day {#day}By hour {#hour} <Length>']);
  expect(part.elements('a')).toEqual([{ href: '#day' }, { href: '#hour', 'aria-current': 'true' }]);
});

test('a choice between many is a list of options, and the chosen one is selected', () => {
  const onChoose = () => undefined;
  const part = renderPart(Select, { label: 'Length', options, chosen: 'hour', onChoose });
  expect(part.lines).toEqual(['Length', 'By day *By hour']);
  expect(part.elements('option').map(({ value }) => value)).toEqual(['day', 'hour']);
});
