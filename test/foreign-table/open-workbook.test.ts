import { expect, test } from 'vitest';
import writeXlsxFile from 'write-excel-file/node';
import { openWorkbook } from '../../src/foreign-table/open-workbook.ts';
import { openZip } from '../../src/foreign-table/read-zip.ts';
import { asZip64, workbookOf, zipFiles } from './zip-files.ts';

const BYTES_MAX = 10_000_000;
async function rowsOf(archive: Buffer): Promise<string[][]> {
  const zip = await openZip(archive, BYTES_MAX);
  const [sheet] = await openWorkbook(zip, { cells: 1_000, characters: BYTES_MAX });
  return Array.fromAsync(sheet!.rows());
}

test('cells have their texts, numbers and dates', async () => {
  const cells = [
    '<c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c><c r="D1" t="s"><v>2</v></c>',
    // 2026-11-20 13:05:00, written with few digits, and a day without a time.
    '<c r="A2" s="2"><v>46346.5451389</v></c><c r="B2" s="1"><v>46346</v></c><c r="C2"><v>1234.5</v></c>',
    '<c s="4"><v>0.5</v></c><c s="3"><v>2.5</v></c><c><v>1.5E-3</v></c>',
    '<c r="A4" t="inlineStr"><is><t>in line</t></is></c><c r="B4" t="b"><v>1</v></c><c r="C4" t="e"><v>#N/A</v></c><c r="D4" t="str"><f>A1&amp;"x"</f><v>Time_x000A_x_x0041_</v></c><c r="AB4"><v>7</v></c>',
  ];
  const rows = cells.map((row, index) => `<row r="${index + 1}">${row}</row>`).join('<row r="9"/>');
  const [heading, ...rest] = (await rowsOf(workbookOf({ Data: rows }))).filter((row) => row.length > 0);
  expect(heading).toEqual(['Time', '', 'Energy (kWh)', 'Müller & <Söhne>']);
  expect(rest).toEqual([
    ['2026-11-20 13:05:00', '2026-11-20 00:00:00', '1234.5'],
    ['12:00:00', '2.5', '1.5E-3'],
    ['in line', 'true', '', 'Time\nxA', ...Array.from({ length: 23 }, () => ''), '7'],
  ]);
});

test.each([
  ['1', '1904'],
  ['true', '1904'],
  ['0', '1900'],
  ['false', '1900'],
])(
  'a workbook of another program is read: with prefixes, absolute targets and date1904 as %j',
  async (is1904, year) => {
    const archive = zipFiles({
      'xl/workbook.xml': `<x:workbook xmlns:x="m"><x:workbookPr date1904="${is1904}"/><x:sheets><x:sheet name="S" sheetId="1" r:id="R1" xmlns:r="r"/></x:sheets></x:workbook>`,
      'xl/_rels/workbook.xml.rels':
        '<Relationships><Relationship Target="/xl/any.xml" Id="R1"/></Relationships>',
      'xl/styles.xml': '<x:styleSheet><x:cellXfs><x:xf numFmtId="22"/></x:cellXfs></x:styleSheet>',
      'xl/any.xml':
        "<x:worksheet><x:sheetData><x:row><x:c r='B1'><x:v>1</x:v></x:c></x:row></x:sheetData></x:worksheet>",
    });
    expect(await rowsOf(archive)).toEqual([
      ['', year === '1904' ? '1904-01-02 00:00:00' : '1899-12-31 00:00:00'],
    ]);
  },
);

test('a number is a time if its format is one of the dates and times that every workbook knows', async () => {
  const dates = [14, 22, 27, 36, 45, 47, 50, 58];
  const numbers = [0, 13, 23, 26, 37, 44, 48, 49, 59];
  const ids = [...dates, ...numbers];
  const styles = `<styleSheet><cellXfs>${ids.map((id) => `<xf numFmtId="${id}"/>`).join('')}</cellXfs></styleSheet>`;
  const cells = ids.map((_, style) => `<c s="${style}"><v>46346.25</v></c>`).join('');
  const [row] = await rowsOf(workbookOf({ Data: `<row>${cells}</row>` }, { 'xl/styles.xml': styles }));
  expect(row).toEqual([...dates.map(() => '2026-11-20 06:00:00'), ...numbers.map(() => '46346.25')]);
});

test('a number is a time if its own format shows a part of one, outside of quotes, brackets and escapes', async () => {
  const dates = ['yyyy', 'M', 'D', '[h]', '[mm]', '[ss]', '[Red]hh', '[$-409]d;0'];
  const numbers = ['General', '0.0', '[Red]0', '[$USD]0', '0&quot; days&quot;', '0\\d', '0_d', '*d0', '0;d'];
  const codes = [...dates, ...numbers];
  const styles = `<styleSheet><numFmts>${codes.map((code, index) => `<numFmt numFmtId="${200 + index}" formatCode="${code}"/>`).join('')}</numFmts><cellXfs>${codes.map((_, index) => `<xf numFmtId="${200 + index}"/>`).join('')}</cellXfs></styleSheet>`;
  const cells = codes.map((_, style) => `<c s="${style}"><v>46346.25</v></c>`).join('');
  const [row] = await rowsOf(workbookOf({ Data: `<row>${cells}</row>` }, { 'xl/styles.xml': styles }));
  const read = Object.fromEntries(codes.map((code, index) => [code, row![index]]));
  expect(read).toEqual({
    ...Object.fromEntries(dates.map((code) => [code, '2026-11-20 06:00:00'])),
    ...Object.fromEntries(numbers.map((code) => [code, '46346.25'])),
  });
});

test('a time of a workbook is a whole second if it is within 5 ms of one', async () => {
  const at = (ms: number) => `<c s="2"><v>${46_346 + ms / 86_400_000}</v></c>`;
  const [row] = await rowsOf(workbookOf({ Data: `<row>${[1_004, 1_010, 1_995].map(at).join('')}</row>` }));
  expect(row).toEqual(['2026-11-20 00:00:01', '2026-11-20 00:00:01.010', '2026-11-20 00:00:02']);
});

test('a sheet that the exports write is read', async () => {
  const data = [
    [{ value: 'Day' }, { value: 'Energy (Wh)' }],
    [
      { value: new Date('2026-11-20T00:00:00Z'), type: Date, format: 'yyyy-mm-dd' },
      { value: 12_345, type: Number },
    ],
  ];
  const archive = await writeXlsxFile([{ sheet: 'Data', data, columns: [] }] as never).toBuffer();
  expect(await rowsOf(archive)).toEqual([
    ['Day', 'Energy (Wh)'],
    ['2026-11-20 00:00:00', '12345'],
  ]);
});

/** The archive with the mark of a password at its first entry. */
function encrypted(archive: Buffer): Buffer {
  const entryAt = archive.indexOf('PK\u0001\u0002');
  archive.writeUInt16LE(1, entryAt + 8);
  return archive;
}

test.each([
  ['no archive', Buffer.from('time;energy'.repeat(10)), 'is not a ZIP archive, or is cut off'],
  ['nothing', Buffer.alloc(0), 'is not a ZIP archive, or is cut off'],
  ['another archive', zipFiles({ 'a.txt': 'a' }), 'is not a workbook: it has no xl/workbook.xml'],
  ['an encrypted archive', encrypted(workbookOf({ Data: '<row/>' })), 'by a password; save it without one'],
  ['a part of a workbook', workbookOf({ Data: '<row/>' }).subarray(20), /^is damaged|^is cut off/],
  ['a row that is not closed', workbookOf({ Data: '<row><c>' }), 'is damaged: an element c is not closed'],
  [
    'a tag that is not closed',
    workbookOf({ Data: '' }, { 'xl/worksheets/sheet1.xml': '<worksheet r="1' }),
    'is damaged: an element worksheet is not closed',
  ],
  [
    'a bomb: 20 MB of zeros in 20 kB',
    workbookOf({ Data: '' }, { 'xl/worksheets/sheet1.xml': Buffer.alloc(20_000_000) }),
    'unpacks to more bytes than are allowed',
  ],
])('%s is refused', async (_, archive, message) => {
  await expect(rowsOf(archive)).rejects.toThrow(message);
});

test('an archive is not unpacked further than its directory says, and an archive of 2 files is not one of 70,000', async () => {
  const bomb = zipFiles({ a: Buffer.alloc(20_000_000) });
  bomb.writeUInt32LE(10, bomb.indexOf('PK\u0001\u0002') + 24);
  await expect((await openZip(bomb, BYTES_MAX)).read('a')).rejects.toThrow(
    'is damaged: too many bytes in the stream. expected 10.',
  );
  const files = zipFiles({ a: 'a', b: 'b' });
  expect(String(await (await openZip(asZip64(files, 2), BYTES_MAX)).read('b'))).toBe('b');
  await expect(openZip(asZip64(files, 70_000), BYTES_MAX)).rejects.toThrow('has more than 65,535 files');
  await expect(openZip(asZip64(files, 3), BYTES_MAX)).rejects.toThrow('is damaged: ');
});

test('the limit of unpacked bytes is for all files together', async () => {
  const archive = await openZip(zipFiles({ a: Buffer.alloc(600), b: Buffer.alloc(600) }), 1_000);
  // The width of a sheet is found first, and then its rows are read.
  for (let time = 1; time <= 3; time++) expect(await archive.read('a')).toHaveLength(600);
  await expect(archive.read('b')).rejects.toThrow('unpacks to more bytes than are allowed');
  expect(await archive.read('c')).toBeUndefined();
});

test('a small file cannot have any number of cells, rows or characters', { tags: ['slow'] }, async () => {
  const tooMany = 'has too many cells, or texts that are too long; save the rows you need as CSV';
  await expect(rowsOf(workbookOf({ Data: '<row><c r="XFD1"/></row>'.repeat(1_001) }))).rejects.toThrow(
    tooMany,
  );
  const long = { Data: '<row><c t="s"><v>0</v></c></row>'.repeat(11) };
  const texts = { 'xl/sharedStrings.xml': `<sst><si><t>${'a'.repeat(1_000_000)}</t></si></sst>` };
  await expect(rowsOf(workbookOf(long, texts))).rejects.toThrow(tooMany);
  await expect(rowsOf(workbookOf({ Data: '<row/>'.repeat(1_048_577) }))).rejects.toThrow(
    'has more than 1,048,576 rows',
  );
  // Cells that have only a format take no space.
  expect(await rowsOf(workbookOf({ Data: '<row><c><v>1</v></c><c r="XFD1" s="1"/></row>' }))).toEqual([
    ['1'],
  ]);
});

test('a small file cannot declare any number of texts, sheets, relations or formats', {
  tags: ['slow'],
}, async () => {
  const empty = (name: string) => `<${name}/>`.repeat(100_001);
  const texts = { 'xl/sharedStrings.xml': `<sst>${'<si/>'.repeat(1_001)}</sst>` };
  await expect(rowsOf(workbookOf({ Data: '' }, texts))).rejects.toThrow('has more than 1,000 elements si');
  for (const [part, name, xml] of [
    ['xl/workbook.xml', 'sheet', empty('sheet')],
    ['xl/_rels/workbook.xml.rels', 'Relationship', empty('Relationship')],
    ['xl/styles.xml', 'numFmt', empty('numFmt')],
    ['xl/styles.xml', 'xf', `<cellXfs>${empty('xf')}</cellXfs>`],
  ] as const)
    await expect(rowsOf(workbookOf({ Data: '' }, { [part]: xml }))).rejects.toThrow(
      `has more than 100,000 elements ${name}`,
    );
});

test('a workbook with a changed byte is refused, even if it can be unpacked', async () => {
  const archive = zipFiles({ 'a.xml': '<v>5</v>' });
  const name = archive.indexOf('a.xml', 30 + 'a.xml'.length);
  archive[name - 30]! ^= 1;
  const zip = await openZip(archive, BYTES_MAX);
  await expect(zip.read('a.xml')).rejects.toThrow(
    'is damaged: the checksum of a file in it is wrong; get it again',
  );
});
