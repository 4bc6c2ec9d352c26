/**
 * Reads the head of a CBOR item (RFC 8949, section 3): the initial byte and the argument after it. Every
 * reader of CBOR uses these functions. They take the view alone, because V8 slows them down if callers pass
 * objects of different shapes.
 */

/** The major types, as the upper three bits of an initial byte. */
export const cborMajor = {
  uint: 0x00,
  negative: 0x20,
  bytes: 0x40,
  text: 0x60,
  array: 0x80,
  map: 0xa0,
  tag: 0xc0,
  /** Simple values, floats and the break. */
  simple: 0xe0,
} as const;

/** Initial bytes that readers compare with. */
export const cborInitial = {
  uint8: 0x18,
  uint16: 0x19,
  uint32: 0x1a,
  uint64: 0x1b,
  /** A text whose length is in the next byte. */
  text8: 0x78,
  false: 0xf4,
  true: 0xf5,
  null: 0xf6,
  undefined: 0xf7,
  simpleInNextByte: 0xf8,
  float16: 0xf9,
  float32: 0xfa,
  float64: 0xfb,
  break: 0xff,
} as const;

/** The argument of a head of indefinite length. */
export const INDEFINITE = -1;

const TWO_POW_32 = 0x1_0000_0000;

export function majorOf(initial: number): number {
  return initial & 0xe0;
}

/** Bytes of the head, initial byte included; 0 for the three reserved lengths. */
export function headLength(initial: number): number {
  const info = initial & 31;
  return info < 24 ? 1 : longHeadLength(info);
}

/**
 * The argument of a head that is known to be whole. It is rounded beyond 2^53, and `INDEFINITE` if there is
 * none.
 */
export function headArgument(view: DataView, at: number): number {
  const info = view.getUint8(at) & 31;
  return info < 24 ? info : longArgument(view, at, info);
}

// Short and long heads have two functions each, because V8 inlines the short ones into the loop over the
// fields.

function longHeadLength(info: number): number {
  if (info === 31) return 1;
  return info > 27 ? 0 : 1 + (1 << (info - 24));
}

function longArgument(view: DataView, at: number, info: number): number {
  switch (info) {
    case 24:
      return view.getUint8(at + 1);
    case 25:
      return view.getUint16(at + 1);
    case 26:
      return view.getUint32(at + 1);
    case 27:
      return view.getUint32(at + 1) * TWO_POW_32 + view.getUint32(at + 5);
    default:
      return INDEFINITE;
  }
}

/** The argument with all its digits. The head must be whole and definite. */
export function headBigint(view: DataView, at: number): bigint {
  return (view.getUint8(at) & 31) === 27 ? view.getBigUint64(at + 1) : BigInt(headArgument(view, at));
}

/** The value of a float of 16, 32 or 64 bits that is known to be whole. */
export function floatAt(view: DataView, at: number): number {
  switch (view.getUint8(at)) {
    case cborInitial.float64:
      return view.getFloat64(at + 1);
    case cborInitial.float32:
      return view.getFloat32(at + 1);
    default:
      return halfFloat(view.getUint16(at + 1));
  }
}

/** The number in 16 bits of IEEE 754 (RFC 8949, appendix D). */
function halfFloat(bits: number): number {
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  const sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (fraction + 1024) * 2 ** (exponent - 25);
}
