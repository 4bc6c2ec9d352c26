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

/** The headings of docs/stream.md that state the contract. A test checks that they exist. */
export const contractSections = {
  access: 'docs/stream.md, Access',
  answer: 'docs/stream.md, The answer of a read',
  errors: 'docs/stream.md, Errors',
  ingest: 'docs/stream.md, Ingest',
  size: 'docs/stream.md, The size of an answer',
  messages: 'docs/stream.md, Messages and offsets',
  start: 'docs/stream.md, Where a read starts',
  tables: 'docs/stream.md, Tables',
  wait: 'docs/stream.md, How long a read waits',
  sockets: 'docs/stream.md, Sockets',
  cbor: 'docs/stream.md, CBOR',
} as const;

/** One rule of the contract, and its check. */
export interface Rule {
  /** The id never changes, because scripts and bug reports use it. */
  id: string;
  says: string;
  /** The heading that states the rule. */
  source: (typeof contractSections)[keyof typeof contractSections];
  needs?: readonly Need[];
  /**
   * True if the check depends on time or on a stream that others write. It then fails only after three
   * failures.
   */
  timed?: true;
  /** @throws Breach if the server breaks the rule, NotTestable if the rule cannot be checked */
  check(probe: Probe): Promise<void>;
}
