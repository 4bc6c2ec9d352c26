import { TerminalError } from '../lib/errors.ts';
import { childNamed, elementsOf, type XmlElement, XmlError } from '../lib/xml-elements.ts';
import type { ListedObject } from './object-store.ts';

/** One page of an answer to ListObjectsV2. */
interface ListPage {
  objects: ListedObject[];
  isTruncated: boolean;
}

/**
 * Reads the XML of an answer to ListObjectsV2.
 * @throws TerminalError if the text is not a complete answer
 */
export function readListAnswer(text: string, address: string): ListPage {
  const refuse = (what: string) =>
    new TerminalError(
      'StorageAnswerWrong',
      `${address}: the answer to a list is not that of S3 (${what}); check the endpoint`,
    );
  const list = listOf(text, refuse);
  const isEncoded = textOf(list, 'EncodingType') === 'url';
  const entries = list.children.filter(({ name }) => name === 'Contents');
  const objects = entries.map((entry) => {
    const key = textOf(entry, 'Key');
    const bytes = textOf(entry, 'Size');
    const modifiedAtMs = Date.parse(textOf(entry, 'LastModified') ?? '');
    if (key === undefined || bytes === undefined || !/^\d{1,15}$/.test(bytes) || Number.isNaN(modifiedAtMs))
      throw refuse('an object without key, size or time');
    return { key: isEncoded ? decodeKey(key, refuse) : key, bytes: Number(bytes), modifiedAtMs };
  });
  const isTruncated = textOf(list, 'IsTruncated');
  if (isTruncated !== 'true' && isTruncated !== 'false') throw refuse('no IsTruncated');
  const count = textOf(list, 'KeyCount');
  if (count !== undefined && Number(count) !== objects.length) throw refuse('another number of objects');
  if (isTruncated === 'true' && objects.length === 0) throw refuse('more objects, but none here');
  return { objects, isTruncated: isTruncated === 'true' };
}

function listOf(text: string, refuse: (what: string) => Error): XmlElement {
  try {
    const [list] = elementsOf(text.replace(/^\uFEFF/, ''), 'ListBucketResult');
    if (list !== undefined) return list;
  } catch (error) {
    throw error instanceof XmlError ? refuse(error.message) : error;
  }
  throw refuse('no ListBucketResult');
}

/** The text of the first child with a name. Undefined if there is none. */
function textOf(element: XmlElement, name: string): string | undefined {
  return childNamed(element, name)?.text;
}

function decodeKey(key: string, refuse: (what: string) => Error): string {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch {
    throw refuse('a key that is not encoded as asked');
  }
}
