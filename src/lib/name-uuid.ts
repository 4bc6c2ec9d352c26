import { createHash } from 'node:crypto';

/**
 * The UUID of a name in a namespace (RFC 9562, version 5). The same name always has the same UUID. Node
 * itself makes only random ones.
 * @param namespace 16 bytes
 */
export function nameUuid(namespace: Uint8Array, name: string): string {
  const bytes = createHash('sha1').update(namespace).update(name).digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x50;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
