import type { Probe } from './probe.ts';
import type { Sent } from './sent.ts';

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

/** What was seen instead of what the rule says, and what to send to see it again. */
export class Breach extends Error {
  readonly sent: Sent | undefined;

  constructor(saw: string, sent?: Sent) {
    super(saw);
    this.name = 'Breach';
    this.sent = sent;
  }
}

/** The server, or what it holds, gives no occasion to check the rule. */
export class NotTestable extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'NotTestable';
  }
}

/** @throws Breach unless the condition holds */
export function must(condition: boolean, saw: () => string, sent?: Sent): asserts condition {
  if (!condition) throw new Breach(saw(), sent);
}
