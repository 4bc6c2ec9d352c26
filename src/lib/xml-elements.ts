import { Parser } from 'htmlparser2';

/** An element of an XML text, with all that is in it. */
export interface XmlElement {
  /** Without a prefix. */
  name: string;
  /** Decoded values. The names keep their prefixes. */
  attributes: Readonly<Record<string, string>>;
  children: XmlElement[];
  /** The decoded text that is directly in the element. */
  text: string;
}

/** The text is damaged, or has too many elements in one. */
export class XmlError extends Error {}

/** Elements inside of each other. Workbooks and answers of stores have fewer than 20. */
const DEPTH_MAX = 100;
/** Elements in one that is read. A row of a workbook has 16,384 cells, with a few elements in each. */
const INNER_ELEMENTS_MAX = 200_000;
/** The text is parsed in pieces of this many characters, so that few elements are in memory at a time. */
const PIECE_CHARACTERS = 65_536;

/**
 * The elements with a name, in order. An element in another one of the same name is only a part of it.
 * @param xml a text without a byte order mark
 * @param name without a prefix
 * @param parent only elements that are directly in one of this name
 * @throws XmlError if an element or a tag is not closed
 */
export function* elementsOf(xml: string, name: string, parent?: string): Generator<XmlElement> {
  const found: XmlElement[] = [];
  const names: string[] = [];
  /** The elements that are being read, from the outermost one on. */
  const open: XmlElement[] = [];
  let innerCount = 0;
  /** Where the last opening tag ends. */
  let openedAt = -1;
  const parser = new Parser(
    {
      onopentag: (tag, attributes) => {
        const opened = { name: withoutPrefix(tag), attributes, children: [], text: '' };
        const isWanted = opened.name === name && (parent === undefined || names.at(-1) === parent);
        openedAt = parser.endIndex;
        if (names.push(opened.name) > DEPTH_MAX) throw new XmlError('elements are nested too deep');
        if (open.length > 0) {
          innerCount += 1;
          if (innerCount > INNER_ELEMENTS_MAX)
            throw new XmlError(`an element ${name} has too many others in it`);
          open.at(-1)!.children.push(opened);
        } else if (!isWanted) return;
        open.push(opened);
      },
      ontext: (text) => {
        if (open.length > 0) open.at(-1)!.text += text;
      },
      onclosetag: (tag, isImplied) => {
        // A tag such as <v/> closes itself.
        if (isImplied && parser.endIndex !== openedAt)
          throw new XmlError(`an element ${withoutPrefix(tag)} is not closed`);
        names.pop();
        const closed = open.pop();
        if (closed === undefined || open.length > 0) return;
        found.push(closed);
        innerCount = 0;
      },
    },
    { xmlMode: true },
  );
  for (let at = 0; at < xml.length; at += PIECE_CHARACTERS) {
    parser.write(xml.slice(at, at + PIECE_CHARACTERS));
    yield* found.splice(0);
  }
  parser.end();
  // The parser ignores a tag that is cut off.
  if (openedAt < 0 && xml !== '') throw new XmlError('there is no whole element');
}

/** The first child with a name. */
export function childNamed(element: XmlElement, name: string): XmlElement | undefined {
  return element.children.find((child) => child.name === name);
}

function withoutPrefix(tag: string): string {
  return tag.slice(tag.indexOf(':') + 1);
}
