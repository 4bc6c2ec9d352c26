/**
 * Random numbers without state. The same arguments always give the same number, so any window of a simulation
 * can be computed alone.
 */

/**
 * What a random number decides. Two decisions never share a number. Those of fields of devices begin at
 * 1,000.
 */
export const draws = {
  latitude: 1,
  initialWh: 2,
  peakW: 3,
  phase: 4,
  deviceId: 5,
  deviceIdVariant: 6,
  overcast: 20,
  slowClouds: 21,
  fastClouds: 22,
  appliance: 23,
  flicker: 24,
  hasOutage: 30,
  outageLength: 31,
  isOverMidnight: 32,
  outageStart: 33,
  latency: 40,
  straggles: 41,
  straggle: 42,
  isSentAgain: 43,
  resend: 44,
} as const;

/** A number from 0 to 1, without 1. `parts` begin with one of `draws`. */
export function uniform(seed: number, ...parts: number[]): number {
  return hash(seed, ...parts) / 0x1_0000_0000;
}

/** Mixes 32 bits: multiply, rotate and add for each part, and then the finalizer of MurmurHash3. */
export function hash(seed: number, ...parts: number[]): number {
  let mixed = seed | 0;
  for (const part of parts) {
    mixed = mixWord(mixed, part | 0);
    // Instants have more than 32 bits.
    mixed = mixWord(mixed, Math.floor(part / 0x1_0000_0000) | 0);
  }
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

function mixWord(mixed: number, word: number): number {
  const scrambled = Math.imul(word, 0xcc9e2d51);
  const turned = mixed ^ Math.imul((scrambled << 15) | (scrambled >>> 17), 0x1b873593);
  return (Math.imul((turned << 13) | (turned >>> 19), 5) + 0xe6546b64) | 0;
}

/** A smooth curve between 0 and 1, with a new value every `periodMs`. */
export function smoothNoise(seed: number, curve: number, timeMs: number, periodMs: number): number {
  const position = timeMs / periodMs;
  const step = Math.floor(position);
  const between = position - step;
  const eased = between * between * (3 - 2 * between);
  const from = uniform(seed, curve, step);
  return from + (uniform(seed, curve, step + 1) - from) * eased;
}
