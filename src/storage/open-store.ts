import { InputError } from '../lib/errors.ts';
import { createFolderStore } from './folder-store.ts';
import type { ObjectStore } from './object-store.ts';
import { createS3Store, type S3Settings } from './s3-store.ts';

/** An address of a store: the path of a folder, or `s3://bucket/prefix`. */
type StoreAddress = { kind: 'folder'; path: string } | { kind: 's3'; bucket: string; prefix: string };

/** @throws InputError if it is neither a path nor an address of S3 */
export function parseStoreAddress(text: string): StoreAddress {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1];
  // An empty text is often a variable of a shell that has no value.
  if (scheme === undefined && text.trim() !== '') return { kind: 'folder', path: text };
  const place = /^s3:\/\/(?<bucket>[a-z0-9][a-z0-9._-]{1,62})(?:\/(?<prefix>[\w!.*'()/ -]*))?$/i.exec(
    text,
  )?.groups;
  const prefix = place?.prefix ?? '';
  if (place === undefined || /^\/|\/\/|(^|\/)\.{1,2}(\/|$)/.test(prefix))
    throw new InputError('the place', [
      { path: text, message: 'must be a folder, or a bucket such as "s3://energy-backup/site-a"' },
    ]);
  return {
    kind: 's3',
    bucket: place.bucket!,
    prefix: prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`,
  };
}

/** Opens a store, or a part of it whose keys begin with `below` and a slash. Sends no request. */
export function openStore(
  address: { kind: 'folder'; path: string } | ({ kind: 's3' } & S3Settings),
  below = '',
): ObjectStore {
  if (address.kind === 'folder')
    return createFolderStore(below === '' ? address.path : `${address.path}/${below}`);
  return createS3Store({ ...address, prefix: below === '' ? address.prefix : `${address.prefix}${below}/` });
}
