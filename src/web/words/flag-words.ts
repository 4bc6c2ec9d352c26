import { identifierWords } from './identifier-words.ts';

/**
 * How much a flag matters. `bad`: the energy cannot be trusted. `doubtful`: a part of the energy is a guess.
 * `noted`: the energy is right.
 */
type FlagRank = 'bad' | 'doubtful' | 'noted';

/** The quality flags of days in a few words, the most important first. */
export const flagWords: Readonly<Record<string, { rank: FlagRank; words: string }>> = {
  unavailable: { rank: 'bad', words: 'its series is set aside, because it cannot be computed' },
  contradicted: { rank: 'bad', words: 'two methods disagree' },
  incomplete: { rank: 'bad', words: 'a source is missing' },
  mixed: { rank: 'doubtful', words: 'one of several roles is used' },
  undeclared: { rank: 'doubtful', words: 'a source has no role' },
  partial: { rank: 'doubtful', words: 'only a part of the day is measured' },
  gap: { rank: 'doubtful', words: 'power is missing for some time' },
  rebase: { rank: 'doubtful', words: 'the register jumped, and the jump is not counted' },
  substituted: { rank: 'doubtful', words: 'read from another method' },
  estimated: { rank: 'doubtful', words: 'begins or ends in a silence' },
  spike: { rank: 'noted', words: 'impossibly high readings are left out' },
  glitch: { rank: 'noted', words: 'low readings are left out' },
  reset: { rank: 'noted', words: 'the register started again' },
  rollover: { rank: 'noted', words: 'the register rolled over' },
  carry_over: { rank: 'noted', words: "yesterday's value was shown, and is left out" },
  jitter: { rank: 'noted', words: 'small falls are ignored' },
  corrected: { rank: 'noted', words: 'corrected by a person' },
};

const order = Object.keys(flagWords);

/** The rank of the worst flag; undefined without flags. An unknown flag is doubtful. */
export function worstRank(flags: readonly string[]): FlagRank | undefined {
  const ranks = flags.map((flag) => flagWords[flag]?.rank ?? 'doubtful');
  return (['bad', 'doubtful', 'noted'] as const).find((rank) => ranks.includes(rank));
}

const firstNoted = order.findIndex((flag) => flagWords[flag]!.rank === 'noted');

/** Worst first. An unknown flag comes after all that are known to be doubtful. */
export function sortFlags(flags: readonly string[]): string[] {
  const placeOf = (flag: string) => (Object.hasOwn(flagWords, flag) ? order.indexOf(flag) : firstNoted - 0.5);
  return [...new Set(flags)].sort((a, b) => placeOf(a) - placeOf(b));
}

/** Names that say more than the names of the interface. */
const plainNames: Readonly<Record<string, string>> = {
  unavailable: 'set aside',
  partial: 'partly measured',
  rebase: 'jump',
};

/** The short name of a flag, or of an event of a register. */
export function flagName(flag: string): string {
  return plainNames[flag] ?? identifierWords(flag);
}

/**
 * The name of a flag and its meaning. If its name in the interface of the service differs, that name is there
 * too.
 */
export function flagText(flag: string): string {
  const words = flagWords[flag]?.words;
  return `${flagName(flag)}${plainNames[flag] ? ` (${flag})` : ''}${words ? `: ${words}` : ''}`;
}
