import { inflateRawSync } from 'node:zlib';

/** The files of a ZIP archive by name, from its directory at the end. */
export function unzip(archive: Buffer): Map<string, string> {
  const end = archive.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'));
  const files = new Map<string, string>();
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((field) =>
      archive.readUInt16LE(at + field),
    );
    const name = archive.toString('utf8', at + 46, at + 46 + nameBytes!);
    const head = archive.readUInt32LE(at + 42);
    const start = head + 30 + archive.readUInt16LE(head + 26) + archive.readUInt16LE(head + 28);
    const packed = archive.subarray(start, start + archive.readUInt32LE(at + 20));
    const bytes = archive.readUInt16LE(at + 10) === 0 ? packed : inflateRawSync(packed);
    files.set(name, bytes.toString('utf8'));
    at += 46 + nameBytes! + extraBytes! + commentBytes!;
  }
  return files;
}

/** The cells of a sheet as a spreadsheet program reads them: text, or the number as it is written. */
export function readSheet(archive: Buffer, number: number): string[][] {
  const files = unzip(archive);
  const shared = [...(files.get('xl/sharedStrings.xml') ?? '').matchAll(/<si>(.*?)<\/si>/gs)].map(
    ([, item]) => textOf(item!),
  );
  const xml = files.get(`xl/worksheets/sheet${number}.xml`)!;
  return [...xml.matchAll(/<row [^>]*?(?:\/>|>(.*?)<\/row>)/gs)].map(([, cells = '']) =>
    [...cells.matchAll(/<c ([^>]*?)(?:\/>|>(.*?)<\/c>)/gs)].map(([, attributes, content = '']) => {
      if (content.includes('<f')) throw new Error('a formula');
      const value = /<v>(.*?)<\/v>/s.exec(content)?.[1];
      return attributes!.includes('t="s"') ? shared[Number(value)]! : (value ?? textOf(content));
    }),
  );
}

function textOf(xml: string): string {
  const text = [...xml.matchAll(/<t[^>]*>(.*?)<\/t>/gs)].map(([, part]) => part).join('');
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&amp;', '&');
}
