import type { DecodeOptions } from '../../src/cbor/cbor-codec.ts';
import { cborBytes, checkItem } from '../../src/cbor/check-cbor.ts';
import { decodeCheckedItem } from '../../src/cbor/decode-item.ts';

/**
 * Decodes a CBOR sequence (RFC 8742): items one after another. No bytes are an empty sequence.
 * @throws MalformedError like `decodeCbor`, even if only the last item is broken
 */
export function decodeCborSequence(bytes: Uint8Array, options: DecodeOptions = {}): unknown[] {
  const cbor = cborBytes(bytes, options);
  const items: unknown[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = checkItem(cbor, at);
    items.push(decodeCheckedItem(cbor, at));
    at = end;
  }
  return items;
}
