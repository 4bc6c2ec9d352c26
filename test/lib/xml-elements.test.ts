import { expect, test } from 'vitest';
import { elementsOf } from '../../src/lib/xml-elements.ts';

const read = (xml: string, name = 'a', parent?: string) => [...elementsOf(xml, name, parent)];
const leaf = (name: string, text = '') => ({ name, attributes: {}, children: [], text });

test('an element has its attributes, its text and its children, without prefixes and with decoded texts', () => {
  const xml = `<?xml version="1.0"?><r xmlns:x="m"><x:a b="1 &amp; &#228;" x:id='>'>t&lt;<!-- <a/> --><x:b>2</x:b><![CDATA[<a>]]></x:a></r>`;
  expect(read(xml)).toEqual([
    { name: 'a', attributes: { b: '1 & ä', 'x:id': '>' }, children: [leaf('b', '2')], text: 't<<a>' },
  ]);
});

test('entities that XML does not have stay as they are', () => {
  expect(read('<!DOCTYPE a [<!ENTITY own "x">]><a>&nbsp; &own; & &#228;</a>')[0]!.text).toBe(
    '&nbsp; &own; & ä',
  );
});

test('an element in one of the same name is a part of it', () => {
  expect(read('<r><a><a/></a><a/></r>')).toEqual([{ ...leaf('a'), children: [leaf('a')] }, leaf('a')]);
});

test('only elements that are directly in the parent are read', () => {
  expect(read('<r><p><a>1</a><q><a>2</a></q></p><a>3</a></r>', 'a', 'p')).toEqual([leaf('a', '1')]);
});

test('a text of many pieces has all its elements, each as soon as it is complete', () => {
  const xml = `<r>${Array.from({ length: 30_000 }, (_, index) => `<a>${index}</a>`).join('')}</r>`;
  expect(read(xml).map(({ text }) => Number(text))).toEqual(
    Array.from({ length: 30_000 }, (_, index) => index),
  );
  const [first] = elementsOf(xml.slice(0, -4), 'a');
  expect(first).toEqual(leaf('a', '0'));
});

test.each([
  ['<r><a>', 'an element a is not closed'],
  ['<r><a></r>', 'an element a is not closed'],
  ['<r><a/>', 'an element r is not closed'],
  ['<r>text/', 'an element r is not closed'],
  ['<r><a></a', 'an element a is not closed'],
  ['<r b="', 'an element r is not closed'],
  ['<r', 'there is no whole element'],
  ['no element', 'there is no whole element'],
])('%s is damaged', (xml, message) => {
  expect(() => read(xml)).toThrow(message);
});

test.each([
  ['<a>', 'elements are nested too deep'],
  ['<a><![CDATA[', 'an element a is not closed'],
  ['<!--', 'there is no whole element'],
  ['<a ', 'an element a is not closed'],
])('%s many times is refused in a time that its length does not square', (opening, message) => {
  // Squared it takes minutes, which is longer than a test may take.
  expect(() => read(opening.repeat(200_000))).toThrow(message);
});

test('an element cannot have any number of others in it', { tags: ['slow'] }, () => {
  expect(() => read(`<a>${'<b/>'.repeat(200_001)}</a>`)).toThrow('an element a has too many others in it');
  expect(read(`<r>${'<a><b/><b/></a>'.repeat(100_001)}</r>`)).toHaveLength(100_001);
});
