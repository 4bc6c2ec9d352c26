import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { admit, type Gate } from '../access/admit.ts';
import type { Workgroups } from '../config/workgroups.ts';
import { StreamError } from '../contract/stream-errors.ts';
import { authenticationOf, rejectOtherMethods } from '../http/http-server.ts';
import type { MetricsRegistry } from './metrics-registry.ts';

export const METRICS_URL = '/metrics';

/**
 * `GET /metrics` on the port of the API. The labels name all workgroups, so the token needs `org:admin` in
 * each of them, without device groups.
 */
export function registerMetricsRoute(
  app: FastifyInstance,
  registry: MetricsRegistry,
  { audit, workgroups }: Pick<Gate, 'audit'> & { workgroups: Pick<Workgroups, 'get' | 'list'> },
): void {
  const gate = { audit, groupsOf: (id: string) => workgroups.get(id)?.deviceGroups };
  addRoute(app, registry, { hide: false }, (request) => {
    const ids = workgroups.list().map(({ id }) => id);
    const authentication = authenticationOf(request);
    const isForAll = ids.map((id) => admit(gate, authentication, id, ['org:admin']).devices === 'all');
    if (ids.length === 0 || isForAll.includes(false))
      throw new StreamError(
        'InsufficientScope',
        'metrics are about all workgroups: the token needs org:admin in each of them, without device groups. A scraper on this machine can use metrics.port without a token',
        { required: ['org:admin'] },
      );
  });
}

/** `GET /metrics` for everyone who can reach the server. Only for a separate server. */
export function registerOpenMetricsRoute(app: FastifyInstance, registry: MetricsRegistry): void {
  addRoute(app, registry, { hide: true });
}

function addRoute(
  app: FastifyInstance,
  registry: MetricsRegistry,
  { hide }: { hide: boolean },
  guard?: (request: FastifyRequest) => void,
): void {
  app.get(
    METRICS_URL,
    {
      schema: {
        hide,
        summary: 'Metrics',
        description:
          'All metrics in the text format of Prometheus. Needs `org:admin` in every workgroup, without device groups.',
        tags: ['operate'],
        produces: ['text/plain'],
        response: { 200: z.string() },
      },
    },
    async (request, reply) => {
      guard?.(request);
      return reply.header('Cache-Control', 'no-store').type(registry.contentType).send(registry.text());
    },
  );
  rejectOtherMethods(app, METRICS_URL, ['GET']);
}
