import { describe, expect, test } from 'vitest';
import { findHeading } from '../../src/foreign-table/find-heading.ts';

const rows = '28.03.2026 00:00;1234,5;0\n28.03.2026 00:15;1234,6;12\n';

describe('the line that names the columns is found', () => {
  test.each<[what: string, text: string, skipLines: number, titles: string[]]>([
    ['at the top', `Zeit;Zähler;Leistung\n${rows}`, 0, []],
    ['in a file of one row', 'Zeit;Zähler;Leistung\n28.03.2026 00:00;1;2\n', 0, []],
    ['behind a mark', `\ufeffZeit;Zähler;Leistung\n${rows}`, 0, []],
    [
      'behind title lines that are padded to the width of the table',
      `Hauptzähler Export;;\nNummer: 7;;\n;;\nZeit;Zähler;Leistung\n${rows}`,
      3,
      ['Hauptzähler Export', 'Nummer: 7'],
    ],
    [
      'behind titles of several cells, one of them a date',
      `Erstellt;01.04.2026;;;\nAnlage;Haus;;;\nZeit;Zähler;Leistung;Status;Rest\n${rows.replaceAll('\n', ';OK;\n')}`,
      2,
      ['Erstellt 01.04.2026', 'Anlage Haus'],
    ],
    [
      'behind lines that are not padded',
      `Plant of somebody\n\nZeit;Zähler;Leistung\n${rows}`,
      2,
      ['Plant of somebody'],
    ],
    ['behind a title in quotes with a break', `"one\ntwo";;\nZeit;Zähler;Leistung\n${rows}`, 2, ['one\ntwo']],
    [
      'next to the data, where a title has as many cells',
      `Anlage;Haus;Ort\nZeit;Zähler;Leistung\n${rows}`,
      1,
      ['Anlage Haus Ort'],
    ],
    [
      'above a row with a time and texts',
      `Zeit;Zähler;Leistung\n27.03.2026 23:45;keine;Daten\n${rows}`,
      0,
      [],
    ],
    [
      'behind a title with more cells than the table',
      `Haus;Ort;Land;Netz;Rest\nZeit;Zähler;Leistung\n${rows}`,
      1,
      ['Haus Ort Land Netz Rest'],
    ],
    ['above a line of units', `Titel;;\nZeit;Zähler;Leistung\n;kWh;W\n${rows}`, 1, ['Titel']],
    [
      'above rows without a value',
      `Titel;;\nZeit;Zähler;Leistung\n27.03.2026 23:45;;\n${rows}`,
      1,
      ['Titel'],
    ],
    [
      'with Windows line ends',
      `Titel;;\r\nZeit;Zähler;Leistung\r\n${rows.replaceAll('\n', '\r\n')}`,
      1,
      ['Titel'],
    ],
  ])('%s', (_, text, skipLines, titles) => {
    expect(findHeading(text)).toEqual({ delimiter: ';', skipLines, titles });
  });

  test.each([',', '\t', '|'])('with %j between the cells', (delimiter) => {
    const text = `Title${delimiter.repeat(2)}\ntime${delimiter}total${delimiter}power\n${[1, 2].map((hour) => `2026-03-28T0${hour}:00:00Z${delimiter}1.5${delimiter}3\n`).join('')}`;
    expect(findHeading(text)).toEqual({ delimiter, skipLines: 1, titles: ['Title'] });
  });
});

test.each([
  ['no line names the columns', rows],
  ['titles stand above rows without names', `Titel;;\n${rows}`],
  [
    'a title of two cells stands above rows without names',
    `Anlage;Haus;;;\n${rows.replaceAll('\n', ';OK;\n')}`,
  ],
  ['there is no time', 'a;b\n1;2\n3;4\n'],
  ['there is nothing', ''],
  ['a quote is never closed', '"a;b\n'],
])('where %s, none is found', (_, text) => {
  expect(findHeading(text)).toBeUndefined();
});

test('the heading, or without expected names its first data, is on one of the first 80 lines', () => {
  const onLine = (line: number) => `${'Titel;;\n'.repeat(line - 1)}Zeit;Zähler;Leistung\n${rows}`;
  const isHeading = (cells: readonly string[]) => cells.includes('Zeit');
  expect(findHeading(onLine(80), { isHeading })?.skipLines).toBe(79);
  expect(findHeading(onLine(81), { isHeading })?.skipLines).toBe(0);
  expect(findHeading(onLine(79))?.skipLines).toBe(78);
  expect(findHeading(onLine(80))).toBeUndefined();
});

test('a cell of very many digits is judged at once', () => {
  const cell = `${'1'.repeat(500_000)}x`;
  expect(findHeading(`time;a;b\n2026-01-01T00:00Z;${cell};1\n`)).toMatchObject({ skipLines: 0 });
});
