import { DAY_MS, formatInstant } from '../lib/time.ts';
import { type Fact, problem, warning } from './run-checks.ts';

/** Certificates and tokens that end within this time are a warning. */
const ENDS_SOON_MS = 14 * DAY_MS;

/** A fact about something that ends. There is no fact if the end is further away than this. */
export function endFacts(what: string, endsAtMs: number, nowMs: number, { next }: { next: string }): Fact[] {
  const when = formatInstant(endsAtMs);
  if (endsAtMs <= nowMs) return [problem(`${what} ended at ${when}`, next)];
  if (endsAtMs - nowMs < ENDS_SOON_MS) return [warning(`${what} ends at ${when}`, next)];
  return [];
}
