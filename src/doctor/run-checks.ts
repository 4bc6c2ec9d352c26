import { errorMessage } from '../lib/errors.ts';
import { SECOND_MS } from '../lib/time.ts';
import { withTimeout } from '../lib/with-timeout.ts';

/** The finding of a check, and what to do about it. */
export interface Fact {
  state: 'ok' | 'warning' | 'problem';
  found: string;
  /** What to do next. Undefined if there is nothing to do, or if `found` says it already. */
  next?: string | undefined;
}

export interface Check {
  /** The group, such as `redis`. */
  name: string;
  /**
   * Changes nothing. A thrown error becomes a problem. `signal` aborts when the time of the check is over.
   */
  run(signal: AbortSignal): Promise<Fact[]>;
}

export interface DoctorFinding extends Fact {
  check: string;
}

/** A check that has found nothing in this time is a problem, and the others continue. */
const CHECK_MS_MAX = 10 * SECOND_MS;

/** Runs all checks at the same time. @returns their findings in the order of the checks */
export async function runChecks(checks: readonly Check[], withinMs = CHECK_MS_MAX): Promise<DoctorFinding[]> {
  const findings = await Promise.all(
    checks.map(async (check) => {
      const facts = await runOne(check, withinMs);
      return facts.map((fact) => ({ check: check.name, ...fact }));
    }),
  );
  return findings.flat();
}

async function runOne({ run }: Check, withinMs: number): Promise<Fact[]> {
  const end = new AbortController();
  try {
    const facts = await withTimeout(run(end.signal), withinMs);
    if (facts !== 'late') return facts;
    end.abort(new Error('the check took too long'));
    return [
      problem(
        `no result within ${withinMs / SECOND_MS} s`,
        'something that this check needs does not answer: a server, the network, or a disk; look at it, then run the command again',
      ),
    ];
  } catch (error) {
    return [problem(errorMessage(error))];
  }
}

export function ok(found: string): Fact {
  return { state: 'ok', found };
}

export function warning(found: string, next?: string): Fact {
  return { state: 'warning', found, next };
}

export function problem(found: string, next?: string): Fact {
  return { state: 'problem', found, next };
}
