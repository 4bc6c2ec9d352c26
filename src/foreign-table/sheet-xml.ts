import { decodeEntities } from '../lib/xml-entities.ts';
import { ZipError } from './read-zip.ts';

/** An element of an XML text: its opening tag, and the text up to its closing tag. */
export interface XmlElement {
  tag: string;
  inner: string;
}

/**
 * The elements with a local name, in order, with any prefix. Elements of this name do not contain each other
 * in the files of workbooks. Each character is read once, so a malformed text takes no longer.
 * @throws ZipError if an element is not closed
 */
export function* elementsOf(xml: string, name: string): Generator<XmlElement> {
  for (let at = 0; ; ) {
    const found = findTag(xml, name, at);
    if (!found) return;
    const { from, prefix } = found;
    const end = tagEnd(xml, from);
    const tag = xml.slice(from, end);
    if (xml[end - 1] === '/') {
      yield { tag, inner: '' };
      at = end + 1;
      continue;
    }
    const close = `</${prefix}${name}>`;
    const closeAt = xml.indexOf(close, end);
    if (closeAt < 0) throw new ZipError(`is damaged: an element ${name} is not closed`);
    yield { tag, inner: xml.slice(end + 1, closeAt) };
    at = closeAt + close.length;
  }
}

/** The decoded text of the first element with a local name. Undefined if there is none. */
export function firstTextOf(xml: string, name: string): string | undefined {
  for (const { inner } of elementsOf(xml, name)) return decodeXml(inner);
  return undefined;
}

/** The decoded text of all runs, without the reading aids of Japanese. */
export function textOf(xml: string): string {
  let text = '';
  for (const { inner } of elementsOf(withoutPhonetics(xml), 't')) text += decodeXml(inner);
  return text;
}

function withoutPhonetics(xml: string): string {
  if (!xml.includes('rPh')) return xml;
  let isClosed = false;
  for (const [tag] of xml.matchAll(/<\/?(?:\w+:)?rPh\b/g)) isClosed = tag.startsWith('</');
  // Without an end, the search for it from each beginning would square the time.
  if (!isClosed) return xml;
  return xml.replace(/<(?:\w+:)?rPh\b[\s\S]*?<\/(?:\w+:)?rPh>/g, '');
}

/** The decoded value of an attribute of an opening tag. */
export function attributeOf(tag: string, name: string): string | undefined {
  const found = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(tag);
  return found ? decodeXml(found[1] ?? found[2]!) : undefined;
}

function findTag(xml: string, name: string, start: number): { from: number; prefix: string } | undefined {
  for (let at = start; ; ) {
    const from = xml.indexOf('<', at);
    if (from < 0) return undefined;
    // A name of these files is short.
    const head = /^<((?:[\w.-]+:)?)([\w.-]+)(?=[\s/>])/.exec(xml.slice(from, from + 80));
    if (head?.[2] === name) return { from, prefix: head[1]! };
    at = from + 1;
  }
}

/** The position of the `>` of a tag. An attribute can contain the character. */
function tagEnd(xml: string, from: number): number {
  let quote = '';
  for (let at = from; at < xml.length; at++) {
    const character = xml[at]!;
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === '"' || character === "'") quote = character;
    else if (character === '>') return at;
  }
  throw new ZipError('is damaged: a tag is not closed');
}

function decodeXml(text: string): string {
  if (!text.includes('&') && !text.includes('_x') && !text.includes('<![CDATA[')) return text;
  const isClosed = text.lastIndexOf('<![CDATA[') < text.lastIndexOf(']]>');
  const plain = isClosed ? text.replace(/<!\[CDATA\[([\s\S]*?)\]\]>/g, '$1') : text;
  return decodeEntities(
    plain.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16))),
  );
}
