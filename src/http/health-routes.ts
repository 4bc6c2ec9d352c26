import type { FastifyInstance } from 'fastify';
import { errorMessage } from '../lib/errors.ts';
import { rejectOtherMethods } from './http-server.ts';

export interface HealthState {
  ok: boolean;
  /** Facts for the person who looks, such as ages and counts. Everyone can read them. */
  detail?: Record<string, unknown>;
}
export type HealthCheck = () => HealthState | Promise<HealthState>;

export interface Health {
  /** Adds to GET /health: false means that only a restart helps. */
  addLiveness(name: string, check: HealthCheck): void;
  /** Adds to GET /ready: false means that requests should go elsewhere for now. */
  addReadiness(name: string, check: HealthCheck): void;
}

/** Puts GET /health and GET /ready on a server; each role adds its checks. */
export function registerHealth(app: FastifyInstance): Health {
  const liveness = new Map<string, HealthCheck>();
  const readiness = new Map<string, HealthCheck>();
  for (const [url, checks] of [
    ['/health', liveness],
    ['/ready', readiness],
  ] as const) {
    const route = { config: { rateLimited: false }, schema: { hide: true }, exposeHeadRoute: true };
    app.get(url, route, async (_request, reply) => {
      const states = await Promise.all(
        [...checks].map(async ([name, check]) => [name, await look(check)] as const),
      );
      const ok = states.every(([, state]) => state.ok);
      return reply
        .code(ok ? 200 : 503)
        .header('Cache-Control', 'no-store')
        .send({ ok, checks: Object.fromEntries(states) });
    });
    rejectOtherMethods(app, url, ['GET', 'HEAD']);
  }
  return {
    addLiveness: (name, check) => liveness.set(name, check),
    addReadiness: (name, check) => readiness.set(name, check),
  };
}

async function look(check: HealthCheck): Promise<HealthState> {
  try {
    return await check();
  } catch (error) {
    return { ok: false, detail: { problem: errorMessage(error) } };
  }
}
