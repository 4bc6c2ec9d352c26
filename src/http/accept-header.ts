import Negotiator from 'negotiator';

/** Only these first characters of a header count, because a header of 16 kB would cost 20 ms of CPU. */
const ACCEPT_CHARACTERS_MAX = 1_000;

/**
 * Finds the type that a caller prefers (RFC 9110, section 12.5.1). Without a header it is the first one.
 * @param types media types. A parameter of the header must be a parameter of the type, so the types name
 *   theirs, such as `charset=utf-8`.
 * @returns undefined if the caller accepts none of them
 */
export function preferredType<Type extends string>(
  accept: string | undefined,
  types: readonly Type[],
): Type | undefined {
  return negotiate('accept', accept).mediaType(types) as Type | undefined;
}

/** True if a caller of the stream prefers JSON. Without `Accept`, the stream answers in CBOR. */
export function prefersJson(accept: string | undefined): boolean {
  const json = 'application/json; charset=utf-8';
  return preferredType(accept, ['application/cbor', json]) === json;
}

/** True if a caller accepts answers that are compressed with gzip. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  return negotiate('accept-encoding', acceptEncoding).encoding(['gzip']) !== undefined;
}

function negotiate(name: 'accept' | 'accept-encoding', value: string | undefined): Negotiator {
  return new Negotiator({ headers: { [name]: value?.slice(0, ACCEPT_CHARACTERS_MAX) } });
}
