import { crc32, deflateRawSync } from 'node:zlib';

/** A ZIP archive of files. */
export function zipFiles(files: Readonly<Record<string, string | Buffer>>): Buffer {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const [name, content] of Object.entries(files)) {
    const bytes = Buffer.from(content);
    const packed = deflateRawSync(bytes);
    const head = Buffer.alloc(30);
    head.writeUInt32LE(0x04034b50, 0);
    head.writeUInt16LE(8, 8);
    head.writeUInt32LE(crc32(bytes), 14);
    head.writeUInt32LE(packed.length, 18);
    head.writeUInt32LE(bytes.length, 22);
    head.writeUInt16LE(Buffer.byteLength(name), 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    head.copy(entry, 8, 6, 30);
    entry.writeUInt16LE(0, 8);
    entry.writeUInt16LE(8, 10);
    entry.writeUInt32LE(packed.length, 20);
    entry.writeUInt32LE(bytes.length, 24);
    entry.writeUInt16LE(Buffer.byteLength(name), 28);
    entry.writeUInt16LE(0, 30);
    entry.writeUInt32LE(at, 42);
    bodies.push(head, Buffer.from(name), packed);
    directory.push(entry, Buffer.from(name));
    at += 30 + Buffer.byteLength(name) + packed.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(Object.keys(files).length, 8);
  end.writeUInt16LE(Object.keys(files).length, 10);
  end.writeUInt32LE(Buffer.concat(directory).length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...bodies, ...directory, end]);
}

/** A ZIP archive as ZIP64. @param count the number of files that it says it has */
export function asZip64(archive: Buffer, count: number): Buffer {
  const endAt = archive.length - 22;
  const end = Buffer.from(archive.subarray(endAt));
  const record = Buffer.alloc(56);
  record.writeUInt32LE(0x06064b50, 0);
  record.writeBigUInt64LE(BigInt(count), 32);
  record.writeBigUInt64LE(BigInt(end.readUInt32LE(16)), 48);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x07064b50, 0);
  locator.writeBigUInt64LE(BigInt(endAt), 8);
  end.fill(0xff, 8, 20);
  return Buffer.concat([archive.subarray(0, endAt), record, locator, end]);
}

/** A workbook of one or more sheets. @param sheets the XML of the cells by name */
export function workbookOf(
  sheets: Readonly<Record<string, string>>,
  more: Readonly<Record<string, string | Buffer>> = {},
): Buffer {
  const names = Object.keys(sheets);
  return zipFiles({
    'xl/workbook.xml': `<?xml version="1.0"?><workbook xmlns:r="r"><sheets>${names.map((name, index) => `<sheet name="${name}" sheetId="${index + 1}" ${name.startsWith('Hidden') ? 'state="hidden" ' : ''}r:id="rId${index + 1}"/>`).join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships>${names.map((_, index) => `<Relationship Id="rId${index + 1}" Target="worksheets/sheet${index + 1}.xml"/>`).join('')}</Relationships>`,
    'xl/styles.xml':
      '<styleSheet><numFmts count="2"><numFmt numFmtId="164" formatCode="dd/mm/yyyy\\ hh:mm"/><numFmt numFmtId="165" formatCode="0.00&quot; days&quot;"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="20"/></cellXfs></styleSheet>',
    'xl/sharedStrings.xml':
      '<sst><si><t>Time</t></si><si><r><t>Energy </t></r><r><t>(kWh)</t></r><rPh sb="0"><t>reading</t></rPh></si><si><t xml:space="preserve"> Müller &amp; &lt;S&#246;hne&gt;_x000A_ </t></si></sst>',
    ...Object.fromEntries(
      Object.values(sheets).map((rows, index) => [
        `xl/worksheets/sheet${index + 1}.xml`,
        `<?xml version="1.0"?><worksheet><dimension ref="A1"/><sheetData>${rows}</sheetData></worksheet>`,
      ]),
    ),
    ...more,
  });
}
