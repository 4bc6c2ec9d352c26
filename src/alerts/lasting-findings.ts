import { type Clock, elapsedOf } from '../lib/time.ts';
import type { Findings } from './advance-alarms.ts';

/** Since when findings last, by the time that has passed. */
interface LastingFindings {
  /** Notes the findings of this look. Findings of conditions that were not judged stay. */
  note(findings: Findings): void;
  /** True if a subject was found for this long. */
  hasLasted(condition: string, subject: string, forMs: number): boolean;
}

export function createLastingFindings(clock: Clock): LastingFindings {
  let sinceMs = new Map<string, number>();
  return {
    note(findings) {
      const nowMs = elapsedOf(clock);
      const next = new Map<string, number>();
      for (const [condition, found] of findings)
        for (const { subject, isUnclear } of found) {
          const key = `${condition} ${subject}`;
          if (isUnclear && !sinceMs.has(key)) continue;
          next.set(key, sinceMs.get(key) ?? nowMs);
        }
      const judged = new Set<string>(findings.keys());
      for (const [key, atMs] of sinceMs) if (!judged.has(key.slice(0, key.indexOf(' ')))) next.set(key, atMs);
      sinceMs = next;
    },
    hasLasted(condition, subject, forMs) {
      const atMs = sinceMs.get(`${condition} ${subject}`);
      return atMs !== undefined && elapsedOf(clock) - atMs >= forMs;
    },
  };
}
