import { expect, test } from 'vitest';
import { readJson } from '../../src/upload/read-json.ts';

/** The columns and the rows as line and cells, or what is wrong. */
function read(text: string): unknown {
  const found = readJson(text);
  if (found.kind === 'refused') return found.problems.map(({ line, message }) => `${line}: ${message}`);
  return [found.table.columns, ...found.table.rows.map(({ line, cells }) => [line, ...cells])];
}

test('members are columns in the order in which they first come, and a row without one has an empty cell', () => {
  const rows = [
    ['a', 'b', 'c'],
    [1, '1', 'x', ''],
    [3, '', 'y', 'true'],
  ];
  expect(read('{"a":1,"b":"x"}\n\n{"c":true,"b":"y"}')).toEqual(rows);
  expect(read(' \n [{"a":1,"b":"x"}, {"c":true,"b":"y"}]')).toEqual([
    rows[0],
    [1, '1', 'x', ''],
    [2, '', 'y', 'true'],
  ]);
});

test('null is an empty cell, and blanks around a text do not count', () => {
  expect(read('{"a":null,"b":" x ","c":0}\r\n')).toEqual([
    ['a', 'b', 'c'],
    [1, '', 'x', '0'],
  ]);
});

test.each([
  ['no row', '\n', ['0: is empty']],
  ['an empty array', '[]', ['0: is empty']],
  ['an array that is cut off', '[{"a":1}', ['0: is not JSON']],
  [
    'lines that are no JSON',
    '{"a":1}\n{"a":\nx',
    [2, 3].map(
      (line) => `${line}: is not a JSON object; write one object on each line, or one array of objects`,
    ),
  ],
  [
    'rows that are no object',
    '{"a":1}\n5\nnull\n"x"\n[1]',
    ['2: is not an object', '3: is not an object', '4: is not an object', '5: is not an object'],
  ],
  [
    'a member that is no cell',
    '{"a":{"b":1}}\n{"a":[1]}',
    [
      '1: "a" is neither text nor a number; write one of these',
      '2: "a" is neither text nor a number; write one of these',
    ],
  ],
])('what cannot be read is refused: %s', (_, text, problems) => {
  expect(read(text)).toEqual(problems);
});
