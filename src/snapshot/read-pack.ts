import { createHash } from 'node:crypto';
import { errorMessage, TerminalError } from '../lib/errors.ts';
import { damagedObject, type ObjectStore } from '../storage/object-store.ts';
import {
  decodeMap,
  decodeTrailer,
  mapBytesMax,
  type PackMap,
  type PackObject,
  TRAILER_BYTES,
} from './pack-format.ts';

/**
 * Reads the map of a pack, without its blocks. The store is not trusted: a size that it notes must fit the
 * others before memory is taken for it.
 * @param options.fileBytes the size of the warehouse file, as the commit notes it
 * @throws TerminalError `ObjectDamaged` if the pack is damaged, `ObjectMissing` if it does not exist
 */
export async function readPackMap(
  store: ObjectStore,
  pack: PackObject,
  { fileBytes, signal }: { fileBytes: number; signal?: AbortSignal | undefined },
): Promise<PackMap> {
  const damagedError = (what: string) => damagedObject(store.address, pack.key, what);
  const range = async (start: number, length: number) =>
    (await store.getRange(pack.key, start, length, signal)) ?? throwMissing(store, pack.key);
  if (pack.bytes < TRAILER_BYTES) throw damagedError('it is too short');
  const trailer = decodeTrailer(await range(pack.bytes - TRAILER_BYTES, TRAILER_BYTES), pack.bytes);
  if (trailer === undefined) throw damagedError('it does not end like a pack');
  if (trailer.mapBytes > mapBytesMax(fileBytes)) throw damagedError('its map is too large');
  const map = await range(trailer.mapOffset, trailer.mapBytes);
  if (!createHash('sha256').update(map).digest().equals(trailer.sha256))
    throw damagedError('the SHA-256 of its map is not the noted one');
  return decodeMap(map, pack, fileBytes).catch((error: unknown) => {
    throw damagedError(`its map cannot be read (${errorMessage(error)})`);
  });
}

export function throwMissing(store: ObjectStore, key: string): never {
  throw new TerminalError(
    'ObjectMissing',
    `${store.address}/${key} does not exist, but a commit or a pack needs it`,
    {
      details: { store: store.address, key },
    },
  );
}
