import type { Probe } from './probe.ts';

/** What a rule cannot be checked without, and how a skipped one says so. */
export const needs = {
  write: 'needs --write',
  'restricted-token': 'needs --restricted-token',
  'foreign-workgroup': 'needs --foreign-workgroup',
  slow: 'needs --slow',
  socket: 'left out by --no-socket',
} as const;
export type Need = keyof typeof needs;

/** One rule of the contract, and how to see whether a server keeps it. */
export interface Rule {
  /** Stable, so that scripts and bug reports can rely on it. */
  id: string;
  says: string;
  /** Where it stands. */
  source: string;
  needs?: readonly Need[];
  /** Depends on time, or on a stream that goes on while it is read: it fails only if it fails three times. */
  timed?: true;
  /**
   * @throws Breach where the server does something else, NotTestable where nothing can be said
   */
  check(probe: Probe): Promise<void>;
}
