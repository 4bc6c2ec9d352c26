/**
 * Finds the type that a caller prefers (RFC 9110, section 12.5.1): the highest `q`; of equal ones, the first.
 * A range with a star names no type, so the caller of this function answers with its default. Parameters such
 * as `charset=utf-8` are ignored: `negotiator` was tried, and finds no type for a range that has one.
 * @param known media types in lower case
 * @returns undefined if none of them is accepted
 */
export function bestAccepted<Kind>(accept: string, known: Readonly<Record<string, Kind>>): Kind | undefined {
  let best: { kind: Kind | undefined; weight: number } = { kind: undefined, weight: 0 };
  for (const range of accept.split(',')) {
    const [type, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const quality = parameters.find((part) => part.startsWith('q='));
    const weight = quality === undefined ? 1 : Number(quality.slice(2));
    if (Object.hasOwn(known, type!) && weight > best.weight) best = { kind: known[type!], weight };
  }
  return best.kind;
}

/** True if a caller of the stream prefers JSON. Without `Accept`, the stream answers in CBOR. */
export function prefersJson(accept: string | undefined): boolean {
  return bestAccepted(accept ?? '', { 'application/json': 'json', 'application/cbor': 'cbor' }) === 'json';
}
