import { decodeJwt } from 'jose';
import { askAvailability } from '../backfill/availability.ts';
import { createInterpreter } from '../client/interpret.ts';
import { createRestSource } from '../client/rest-source.ts';
import type { Config, WorkgroupConfig } from '../config/config.ts';
import { createNameTable } from '../decode/name-table.ts';
import { errorMessage, TransientError } from '../lib/errors.ts';
import { type Clock, SECOND_MS } from '../lib/time.ts';
import { ANSWER_MS, askEach } from './ask-each.ts';
import { endFacts } from './end-facts.ts';
import { type Check, type Fact, ok, problem } from './run-checks.ts';

type Upstream = NonNullable<WorkgroupConfig['upstream']>;

/** The upstreams of workgroups: reachable, with a valid token. */
export function checkUpstreams({ workgroups }: Pick<Config, 'workgroups'>, clock: Clock): Check[] {
  const all = workgroups.flatMap(({ id, upstream }) => (upstream ? [{ id, upstream }] : []));
  if (all.length === 0) return [];
  const options = {
    kind: 'upstreams',
    nameOf: ({ id, upstream }: (typeof all)[number]) =>
      `${new URL(upstream.url).host}, for workgroup "${id}"`,
    next: 'check upstream.url and the network',
    ask: ({ id, upstream }: (typeof all)[number], signal: AbortSignal) => ask(id, upstream, clock, signal),
  };
  return [{ name: 'upstream', run: (signal) => askEach(all, options, signal) }];
}

/** Reads one message. */
async function ask(id: string, upstream: Upstream, clock: Clock, given: AbortSignal): Promise<Fact[]> {
  const { url, workgroup = id, table, token } = upstream;
  // The address may have a password.
  const { host } = new URL(url);
  const source = createRestSource({
    url,
    workgroup,
    table,
    ...(token !== undefined && { token }),
    timeouts: { headersMs: ANSWER_MS, totalMs: ANSWER_MS },
    connectionsMax: 1,
  });
  try {
    await askAvailability(source, createInterpreter(createNameTable()), clock.now(), given);
    return [ok(`${host} answers for workgroup "${id}"`), ...tokenFacts(id, token, clock.now())];
  } catch (error) {
    if (given.aborted) throw error;
    return [
      // A server that cannot be reached has nothing to do with the settings of the token.
      problem(
        `${host}, for workgroup "${id}": ${errorMessage(error)}`,
        error instanceof TransientError
          ? undefined
          : 'check upstream.url, upstream.token, upstream.workgroup and upstream.table',
      ),
      ...tokenFacts(id, token, clock.now()),
    ];
  } finally {
    await source.close();
  }
}

/** Only tokens that are JWTs say when they end. */
function tokenFacts(id: string, token: string | undefined, nowMs: number): Fact[] {
  let expires: number | undefined;
  try {
    expires = token === undefined ? undefined : decodeJwt(token).exp;
  } catch {
    return [];
  }
  if (expires === undefined) return [];
  return endFacts(`the token of the upstream of workgroup "${id}"`, expires * SECOND_MS, nowMs, {
    next: 'ask the operator of the upstream for a new token, and write it into upstream.token',
  });
}
