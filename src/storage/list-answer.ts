import { TerminalError } from '../lib/errors.ts';
import { decodeEntities } from '../lib/xml-entities.ts';
import type { ListedObject } from './object-store.ts';

/** One page of an answer to ListObjectsV2. */
interface ListPage {
  objects: ListedObject[];
  isTruncated: boolean;
}

/**
 * Reads the XML of an answer to ListObjectsV2. It accepts only the flat elements of the protocol. No
 * library reads it: it would be one more dependency, and the checks of this file would still be needed.
 * @throws TerminalError if the text is not a complete answer
 */
export function readListAnswer(text: string, address: string): ListPage {
  const refuse = (what: string) =>
    new TerminalError(
      'StorageAnswerWrong',
      `${address}: the answer to a list is not that of S3 (${what}); check the endpoint`,
    );
  const body =
    /^\uFEFF?\s*(?:<\?xml[^>]*\?>)?\s*<ListBucketResult\b[^>]*>([\s\S]*)<\/ListBucketResult>\s*$/.exec(
      text,
    )?.[1];
  if (body === undefined) throw refuse('no ListBucketResult');
  const isEncoded = elementOf(body, 'EncodingType') === 'url';
  const objects: ListedObject[] = [];
  // Elements outside of <Contents> describe the page.
  const page = body.replaceAll(/<Contents>([\s\S]*?)<\/Contents>/g, (_, content: string) => {
    const key = elementOf(content, 'Key');
    const bytes = elementOf(content, 'Size');
    const modifiedAtMs = Date.parse(elementOf(content, 'LastModified') ?? '');
    if (key === undefined || bytes === undefined || !/^\d{1,15}$/.test(bytes) || Number.isNaN(modifiedAtMs))
      throw refuse('an object without key, size or time');
    objects.push({ key: isEncoded ? decodeKey(key, refuse) : key, bytes: Number(bytes), modifiedAtMs });
    return '';
  });
  if (page.includes('<Contents')) throw refuse('an object that does not end');
  const isTruncated = elementOf(page, 'IsTruncated');
  if (isTruncated !== 'true' && isTruncated !== 'false') throw refuse('no IsTruncated');
  const count = elementOf(page, 'KeyCount');
  if (count !== undefined && Number(count) !== objects.length) throw refuse('another number of objects');
  if (isTruncated === 'true' && objects.length === 0) throw refuse('more objects, but none here');
  return { objects, isTruncated: isTruncated === 'true' };
}

function decodeKey(key: string, refuse: (what: string) => Error): string {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch {
    throw refuse('a key that is not encoded as asked');
  }
}

/** The text of the first element of a name. Undefined if there is none. */
function elementOf(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return text === undefined ? undefined : decodeEntities(text);
}
