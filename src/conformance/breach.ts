import type { Sent } from './sent.ts';

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
