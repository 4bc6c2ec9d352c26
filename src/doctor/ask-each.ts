import { errorMessage } from '../lib/errors.ts';
import { SECOND_MS } from '../lib/time.ts';
import { type Fact, ok, problem } from './run-checks.ts';

/** The maximum number of servers of one kind that are asked. */
export const ASKED_MAX = 50;
/** Shorter than the time of a check, so that one silent server does not hide the others. */
export const ANSWER_MS = 6 * SECOND_MS;

/**
 * Asks servers at the same time. An error becomes a problem with its text.
 * @param options.nameOf how the findings name one, without secrets
 * @param options.next what to do if it does not answer in time
 */
export async function askEach<Server>(
  all: readonly Server[],
  options: {
    kind: string;
    nameOf: (server: Server) => string;
    next: string;
    ask: (server: Server, signal: AbortSignal) => Promise<Fact[]>;
  },
  given: AbortSignal,
  withinMs = ANSWER_MS,
): Promise<Fact[]> {
  const { kind, nameOf, next, ask } = options;
  const facts = await Promise.all(all.slice(0, ASKED_MAX).map(askOne));
  const left = all.length - ASKED_MAX;
  return [...facts.flat(), ...(left > 0 ? [ok(`${left} more ${kind} were not asked`)] : [])];

  async function askOne(server: Server): Promise<Fact[]> {
    const late = AbortSignal.timeout(withinMs);
    try {
      return await ask(server, AbortSignal.any([given, late]));
    } catch (error) {
      if (given.aborted) throw error;
      return late.aborted
        ? [problem(`${nameOf(server)}: no answer within ${withinMs / SECOND_MS} s`, next)]
        : [problem(withName(nameOf(server), errorMessage(error)))];
    }
  }
}

/** Many errors name the server themselves. */
function withName(name: string, words: string): string {
  return words.includes(name) ? words : `${name}: ${words}`;
}
