/**
 * The bits of the quality flags. `silence_start` and `silence_end` mark bounds of intervals; a day never has
 * them.
 */
export const flagBits = {
  estimated: 1,
  reset: 2,
  rollover: 4,
  rebase: 8,
  jitter: 16,
  spike: 32,
  gap: 64,
  partial: 128,
  incomplete: 256,
  carry_over: 512,
  glitch: 1024,
  contradicted: 2048,
  substituted: 4096,
  corrected: 8192,
  silence_start: 16_384,
  silence_end: 32_768,
  unavailable: 65_536,
} as const;

/**
 * The flags that a day has if one of its intervals has them. The other flags of a day come from its bounds,
 * its sources and corrections.
 */
const dayFlagNames = [
  'reset',
  'rollover',
  'rebase',
  'jitter',
  'spike',
  'gap',
  'partial',
  'incomplete',
  'carry_over',
  'glitch',
] as const;

/** The bits of `dayFlagNames`. */
export const DAY_FLAGS = dayFlagNames.reduce((bits, name) => bits | flagBits[name], 0);
