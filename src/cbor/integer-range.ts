/** The integers that CBOR has without tags: a sign, and up to 64 bits (RFC 8949, major types 0 and 1). */
export const integerRange = { least: -(2n ** 64n), greatest: 2n ** 64n - 1n };
