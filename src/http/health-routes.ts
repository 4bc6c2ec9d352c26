import type { FastifyInstance, FastifyRequest } from 'fastify';
import { errorMessage } from '../lib/errors.ts';
import { SECOND_MS } from '../lib/time.ts';
import { withTimeout } from '../lib/with-timeout.ts';
import { rejectOtherMethods } from './http-server.ts';

export interface HealthState {
  ok: boolean;
  /** Facts for a person, for example ages and counts. Everyone can read them. */
  detail?: Record<string, unknown>;
}
/** The reader of a state. */
export interface HealthAsker {
  /**
   * False for requests through a proxy, because the proxy may forward requests of everybody. Names of
   * workgroups and devices are then left out.
   */
  maySeeNames: boolean;
}
/** Undefined if there is nothing to say. */
export type HealthCheck = (asker: HealthAsker) => HealthState | undefined | Promise<HealthState>;

export interface Health {
  /** Adds a check to GET /health. False means that only a restart helps. */
  addLiveness(name: string, check: HealthCheck): void;
  /** Adds a check to GET /ready. False means that requests should go to another process for now. */
  addReadiness(name: string, check: HealthCheck): void;
}

const RETRY_AFTER_SECONDS = 5;
/** A check without a result in this time has failed. */
const CHECK_MS = 3 * SECOND_MS;

/** Adds GET /health and GET /ready to a server. Each role adds its checks. */
export function registerHealth(app: FastifyInstance): Health {
  const liveness = new Map<string, HealthCheck>();
  const readiness = new Map<string, HealthCheck>();
  for (const [url, checks] of [
    ['/health', liveness],
    ['/ready', readiness],
  ] as const) {
    const route = { config: { rateLimited: false }, schema: { hide: true } };
    app.get(url, route, async (request, reply) => {
      const asker = { maySeeNames: !isForwarded(request) };
      const results = await Promise.all(
        [...checks].map(async ([name, check]) => ({ name, state: await runCheck(check, asker) })),
      );
      const states = results.flatMap(({ name, state }) => (state ? [[name, state] as const] : []));
      const ok = states.every(([, state]) => state.ok);
      if (!ok) reply.header('Retry-After', String(RETRY_AFTER_SECONDS));
      return reply
        .code(ok ? 200 : 503)
        .header('Cache-Control', 'no-store')
        .send({ ok, checks: Object.fromEntries(states) });
    });
    rejectOtherMethods(app, url, ['GET']);
  }
  return {
    addLiveness: (name, check) => liveness.set(name, check),
    addReadiness: (name, check) => readiness.set(name, check),
  };
}

async function runCheck(check: HealthCheck, asker: HealthAsker): Promise<HealthState | undefined> {
  try {
    const state = await withTimeout(Promise.resolve(check(asker)), CHECK_MS);
    return state === 'late' ? late : state;
  } catch (error) {
    return { ok: false, detail: { problem: errorMessage(error) } };
  }
}

const late: HealthState = {
  ok: false,
  detail: {
    problem: `it has not answered within ${CHECK_MS / SECOND_MS} s; the process or its disk is busy`,
  },
};

function isForwarded({ headers }: FastifyRequest): boolean {
  return (
    headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined || headers.via !== undefined
  );
}
