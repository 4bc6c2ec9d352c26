import type { Rule } from '../../conformance/rule.ts';
import type { Finding } from '../../conformance/run-conformance.ts';
import { asCommand } from '../../conformance/sent-request.ts';

/** A rule and its result, as data. */
interface FindingData {
  id: string;
  result: Finding['result'];
  says: string;
  source: string;
  saw?: string;
  reproduce?: string;
  why?: string;
}

const words = { pass: 'PASS', fail: 'FAIL', skip: 'SKIP' } as const;
const INDENT = ' '.repeat(6);

export function findingData(finding: Finding, shownAs: (token: string) => string): FindingData {
  const { rule, result } = finding;
  const data = { id: rule.id, result, says: rule.says, source: rule.source };
  switch (result) {
    case 'pass':
      return data;
    case 'skip':
      return { ...data, why: finding.why };
    case 'fail':
      return {
        ...data,
        saw: finding.saw,
        ...(finding.sent && { reproduce: asCommand(finding.sent, shownAs) }),
      };
    default:
      return finding satisfies never;
  }
}

/**
 * One line with the source of the rule, or why it was not checked. Below it the observation, and how to
 * reproduce it.
 */
export function describeFinding({ id, result, says, source, saw, reproduce, why }: FindingData): string {
  const lines = [`${words[result]}  ${id.padEnd(ID_WIDTH)}  ${says} (${why ?? source})`];
  if (saw !== undefined) lines.push(`${INDENT}saw  ${saw}`);
  if (reproduce !== undefined) lines.push(`${INDENT}try  ${reproduce}`);
  return `${lines.join('\n')}\n`;
}

const ID_WIDTH = 24;

export function describeRule({ id, says, source }: Rule): string {
  return `${id.padEnd(ID_WIDTH)}  ${says} (${source})\n`;
}

export interface ConformanceSummary {
  passed: number;
  failed: number;
  skipped: number;
  seconds: number;
}

export function describeConformance({ passed, failed, skipped, seconds }: ConformanceSummary): string {
  return `\n${passed} passed, ${failed} failed, ${skipped} skipped in ${seconds} s\n`;
}
