import { connect as connectTls } from 'node:tls';
import { decodeJwt } from 'jose';
import { askAvailability } from '../backfill/availability.ts';
import { createInterpreter } from '../client/interpret.ts';
import { createRestSource } from '../client/rest-source.ts';
import type { Config, WorkgroupConfig } from '../config/config.ts';
import { createNameTable } from '../decode/name-table.ts';
import { errorMessage, TransientError } from '../lib/errors.ts';
import { type Clock, DAY_MS, formatInstant, SECOND_MS } from '../lib/time.ts';
import { type Check, type Fact, ok, problem, warning } from './run-checks.ts';

/** The most upstreams that are asked. */
export const UPSTREAMS_ASKED_MAX = 50;
/** Certificates and tokens that end within this time are a warning. */
const ENDS_SOON_MS = 14 * DAY_MS;
/** Shorter than the time of a check, so that one silent upstream does not hide the others. */
const ANSWER_MS = 6 * SECOND_MS;

type Upstream = NonNullable<WorkgroupConfig['upstream']>;

/** The upstreams of workgroups: reachable, with a valid token and a certificate that does not end soon. */
export function checkUpstreams({ workgroups }: Pick<Config, 'workgroups'>, clock: Clock): Check[] {
  const all = workgroups.flatMap(({ id, upstream }) => (upstream ? [{ id, upstream }] : []));
  if (all.length === 0) return [];
  return [
    {
      name: 'upstream',
      async run(signal) {
        const asked = all.slice(0, UPSTREAMS_ASKED_MAX);
        const facts = await Promise.all(asked.map(({ id, upstream }) => ask(id, upstream, clock, signal)));
        const left = all.length - asked.length;
        return [...facts.flat(), ...(left > 0 ? [ok(`${left} more upstreams were not asked`)] : [])];
      },
    },
    {
      name: 'certificates',
      run: () => Promise.all(originsOf(all).map((origin) => certificateFact(origin, clock.now()))),
    },
  ];
}

function originsOf(all: ReadonlyArray<{ upstream: Upstream }>): string[] {
  const origins = new Set(all.map(({ upstream }) => new URL(upstream.url).origin));
  return [...origins].filter((origin) => origin.startsWith('https:')).slice(0, UPSTREAMS_ASKED_MAX);
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

/** A fact about something that ends. Nothing is said of what ends later than soon. */
export function endFacts(what: string, endsAtMs: number, nowMs: number, { next }: { next: string }): Fact[] {
  const when = formatInstant(endsAtMs);
  if (endsAtMs <= nowMs) return [problem(`${what} ended at ${when}`, next)];
  if (endsAtMs - nowMs < ENDS_SOON_MS) return [warning(`${what} ends at ${when}`, next)];
  return [];
}

/** Reads the certificate without trusting it. A certificate that is not trusted is found by the request. */
async function certificateFact(origin: string, nowMs: number): Promise<Fact> {
  const { hostname, port, host } = new URL(origin);
  const name = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve) => {
    const socket = connectTls({
      host: name,
      port: Number(port || 443),
      servername: /[a-z]/i.test(name) && !name.includes(':') ? name : '',
      rejectUnauthorized: false,
      timeout: ANSWER_MS,
    });
    const end = (fact: Fact) => {
      socket.destroy();
      resolve(fact);
    };
    socket.once('secureConnect', () => {
      const endsAtMs = Date.parse(socket.getPeerCertificate().valid_to);
      const next = 'let its operator renew it';
      const [soon] = endFacts(`the certificate of ${host}`, endsAtMs, nowMs, { next });
      end(soon ?? ok(`the certificate of ${host} is valid until ${formatInstant(endsAtMs)}`));
    });
    socket.once('timeout', () =>
      end(problem(`${host} shows no certificate within ${ANSWER_MS / SECOND_MS} s`)),
    );
    socket.once('error', (error) =>
      end(problem(`the certificate of ${host} cannot be read: ${error.message}`)),
    );
  });
}
