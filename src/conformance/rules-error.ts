import { streamErrors } from '../contract/stream-errors.ts';
import { must, NotTestable } from './breach.ts';
import { plain } from './cbor-item.ts';
import type { Probe } from './probe.ts';
import { contractSections, type Rule } from './rule.ts';
import { type Answer, describeAnswer, shorten } from './server-answer.ts';

/** The contract has codes for these statuses. For other statuses it only requires an error map. */
const statuses = new Set([400, 401, 403, 410, 416, 429, 500, 503]);

/** Rules on the form of all errors that the earlier rules have provoked. */
export const errorRules: readonly Rule[] = [
  {
    id: 'error.content-type',
    says: 'Errors are application/cbor too',
    source: contractSections.errors,
    check: (probe) =>
      everyError(probe, (answer) => {
        const type = answer.header('content-type') ?? 'absent';
        return type.split(';')[0]!.trim() === 'application/cbor' ? undefined : `Content-Type ${type}`;
      }),
  },
  {
    id: 'error.map',
    says: 'An error is a map with error, message, status (that of the answer) and retryable',
    source: contractSections.errors,
    check: (probe) =>
      everyError(probe, ({ item, status }) => {
        if (item?.type !== 'map') return 'no map';
        const body = plain(item) as Record<string, unknown>;
        const types = { error: 'string', message: 'string', status: 'number', retryable: 'boolean' };
        const wrong = Object.entries(types).find(([name, type]) => typeof body[name] !== type)?.[0];
        if (wrong !== undefined) return `${wrong} is ${shorten(body[wrong])}`;
        return body.status === status ? undefined : `status ${body.status} in an answer with ${status}`;
      }),
  },
  {
    id: 'error.code',
    says: "error is one of the contract's, with its status; only 429 and 5xx are retryable",
    source: contractSections.errors,
    check: (probe) =>
      everyError(probe, ({ item, status }) => {
        if (!statuses.has(status)) return undefined;
        const { error, retryable } = (item === undefined ? {} : plain(item)) as Record<string, unknown>;
        const known = Object.entries(streamErrors).find(([code]) => code === error)?.[1];
        if (known === undefined) return `error ${shorten(error)}`;
        if (known.status !== status) return `${shorten(error)} with ${status} instead of ${known.status}`;
        return retryable === known.retryable
          ? undefined
          : `${shorten(error)} with retryable ${shorten(retryable)}`;
      }),
  },
  {
    id: 'error.retry-after',
    says: '429 and 503 come with Retry-After',
    source: contractSections.errors,
    async check(probe) {
      const waits = probe.errors.filter(({ status }) => status === 429 || status === 503);
      if (waits.length === 0) throw new NotTestable('no answer was 429 or 503');
      const without = waits.find((answer) => answer.header('retry-after') === undefined);
      must(without === undefined, () => `${without?.status} without Retry-After`, without?.sent);
    },
  },
];

async function everyError(probe: Probe, problemOf: (answer: Answer) => string | undefined): Promise<void> {
  // Provokes at least one error, for every choice of rules.
  await probe.read('limit=0');
  for (const answer of probe.errors) {
    const problem = problemOf(answer);
    must(problem === undefined, () => `${problem} (${describeAnswer(answer)})`, answer.sent);
  }
}
