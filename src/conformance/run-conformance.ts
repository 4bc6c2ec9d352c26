import { Breach, NotTestable } from './breach.ts';
import type { Probe } from './probe.ts';
import { type Need, needs, type Rule } from './rule.ts';
import type { Sent } from './sent-request.ts';

/** The result of a rule. */
export type Finding = { rule: Rule } & (
  | { result: 'pass' }
  | { result: 'fail'; saw: string; sent: Sent | undefined }
  | { result: 'skip'; why: string }
);

const ATTEMPTS = 3;

/** Checks rules one after another and yields each result at once. Ends early if the signal aborts. */
export async function* runConformance(
  rules: readonly Rule[],
  probe: Probe,
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  for (const rule of rules) {
    if (signal.aborted) return;
    const finding = await checkRule(rule, probe).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    // An aborted check has no result, because it proves nothing.
    if (signal.aborted || finding === undefined) return;
    yield finding;
  }
}

async function checkRule(rule: Rule, probe: Probe): Promise<Finding> {
  const missing = rule.needs?.find((need) => !has(probe, need));
  if (missing !== undefined) return { rule, result: 'skip', why: needs[missing] };
  for (let attempt = 1; ; attempt++) {
    try {
      await rule.check(probe);
      return { rule, result: 'pass' };
    } catch (error) {
      if (error instanceof NotTestable) return { rule, result: 'skip', why: error.message };
      if (!(error instanceof Breach)) throw error;
      if (rule.timed && attempt < ATTEMPTS) continue;
      return { rule, result: 'fail', saw: error.message, sent: error.sent };
    }
  }
}

function has({ target }: Probe, need: Need): boolean {
  switch (need) {
    case 'write':
      return target.write;
    case 'slow':
      return target.slow;
    case 'socket':
      return target.socketPath !== undefined;
    case 'restricted-token':
      return target.restrictedToken !== undefined;
    case 'foreign-workgroup':
      return target.foreignWorkgroup !== undefined;
    default:
      return need satisfies never;
  }
}
