/** What the pages must make of quality flags: their order, and the state of a day that has them. */

export type State = 'good' | 'noted' | 'doubtful' | 'bad' | 'missing' | 'future';

const ranks: Readonly<Record<string, State>> = {
  unavailable: 'bad',
  contradicted: 'bad',
  incomplete: 'bad',
  mixed: 'doubtful',
  undeclared: 'doubtful',
  partial: 'doubtful',
  gap: 'doubtful',
  rebase: 'doubtful',
  substituted: 'doubtful',
  estimated: 'doubtful',
  spike: 'noted',
  glitch: 'noted',
  reset: 'noted',
  rollover: 'noted',
  carry_over: 'noted',
  jitter: 'noted',
  corrected: 'noted',
};

const order = Object.keys(ranks);

/** Flags, worst first. */
export const sorted = (flags: readonly string[]) =>
  [...flags].sort((a, b) => order.indexOf(known(a)) - order.indexOf(known(b)));

export function stateOf(flags: readonly string[]): State {
  const found = flags.map((flag) => ranks[known(flag)]);
  return (['bad', 'doubtful', 'noted'] as const).find((one) => found.includes(one)) ?? 'good';
}

export const isMarked = (flags: readonly string[]) => ['bad', 'doubtful'].includes(stateOf(flags));

/** Today is not over, so it is always measured in part. */
export const telling = (flags: readonly string[], isToday: boolean) =>
  flags.filter((flag) => !isToday || (flag !== 'partial' && flag !== 'estimated'));

function known(flag: string): string {
  if (!order.includes(flag)) throw new Error(`the flag ${flag} is missing in expected-flags.ts`);
  return flag;
}
