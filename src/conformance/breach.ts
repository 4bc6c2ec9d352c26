import type { Sent } from './sent-request.ts';

/** A server breaks a rule: its behaviour, and the request that shows it. */
export class Breach extends Error {
  readonly sent: Sent | undefined;

  constructor(saw: string, sent?: Sent) {
    super(saw);
    this.name = 'Breach';
    this.sent = sent;
  }
}

/** A rule cannot be checked with this server or its messages. */
export class NotTestable extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'NotTestable';
  }
}

/** @throws Breach if the condition is false */
export function must(condition: boolean, saw: () => string, sent?: Sent): asserts condition {
  if (!condition) throw new Breach(saw(), sent);
}
