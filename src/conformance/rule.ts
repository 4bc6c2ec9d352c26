import type { Probe } from './probe.ts';

/** The requirements of rules, and the text for a rule that was skipped. */
export const needs = {
  write: 'needs --write',
  'restricted-token': 'needs --restricted-token',
  'foreign-workgroup': 'needs --foreign-workgroup',
  slow: 'needs --slow',
  socket: 'skipped by --no-socket',
} as const;
export type Need = keyof typeof needs;

/** One rule of the contract, and its check. */
export interface Rule {
  /** The id never changes, because scripts and bug reports use it. */
  id: string;
  says: string;
  /** The section of the contract that states the rule. */
  source: string;
  needs?: readonly Need[];
  /** True if the check depends on time or on a stream that others write. It then fails only after three failures. */
  timed?: true;
  /** @throws Breach if the server breaks the rule, NotTestable if the rule cannot be checked */
  check(probe: Probe): Promise<void>;
}
