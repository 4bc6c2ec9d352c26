import { expect, test } from 'vitest';
import { formatRows, formatTable, section } from '../../src/cli/terminal/format-table.ts';

test('columns are aligned, numbers at the right, and no line ends in blanks', () => {
  const columns = [
    { title: 'DEVICE', value: (row: [string, number, string]) => row[0] },
    { title: 'WH', value: (row: [string, number, string]) => String(row[1]), align: 'right' as const },
    { title: 'FLAGS', value: (row: [string, number, string]) => row[2] },
  ];
  const table = formatTable(columns, [
    ['inverter', 12_345, ''],
    ['meter', 7, 'estimated'],
  ]);
  expect(table).toBe('DEVICE       WH  FLAGS\ninverter  12345\nmeter         7  estimated\n');
});

test('columns stay aligned after wide and combining characters', () => {
  const columns = [
    { title: 'DEVICE', value: (row: [string, string]) => row[0] },
    { title: 'SITE', value: (row: [string, string]) => row[1], align: 'right' as const },
    { title: 'WH', value: () => '7', align: 'right' as const },
  ];
  const decomposed = { cafe: 'cafe\u0301', han: '\u1112\u1161\u11ab' };
  const rows: Array<[string, string]> = [
    ['屋根の上', '家'],
    ['🌞 roof', '👩‍👧 home'],
    [decomposed.cafe, decomposed.han],
  ];
  const table = `DEVICE       SITE  WH
屋根の上       家   7
🌞 roof   👩‍👧 home   7
${decomposed.cafe}           ${decomposed.han}   7
`;
  expect(formatTable(columns, rows, 21)).toBe(table);
  expect(formatTable(columns, rows, 20)).not.toBe(table);
});

test('a table that is wider than the terminal becomes a block for each row', () => {
  const columns = [
    { title: 'Workgroup', value: (row: string[]) => row[0]! },
    { title: 'Lag', value: (row: string[]) => row[1]!, align: 'right' as const },
  ];
  const rows = [
    ['home', '12'],
    ['elsewhere', ''],
  ];
  expect(formatTable(columns, rows, 14)).toBe('Workgroup  Lag\nhome        12\nelsewhere\n');
  expect(formatTable(columns, rows, 13)).toBe(
    'Workgroup  home\nLag        12\n\nWorkgroup  elsewhere\nLag\n',
  );
  expect(formatTable(columns, [], 1)).toBe('');
});

test('rows have no line of titles, and a section is indented except for its empty lines', () => {
  const rows = formatRows(
    [{ value: ([name]: string[]) => name! }, { value: ([, wh]: string[]) => wh!, align: 'right' }],
    [
      ['solar', '5'],
      ['grid', '12'],
    ],
  );
  expect(rows).toBe('solar   5\ngrid   12\n');
  expect(section('Energy', `${rows}\nmore\n`)).toBe('Energy\n  solar   5\n  grid   12\n\n  more\n');
  expect(section('Energy', '')).toBe('');
});
