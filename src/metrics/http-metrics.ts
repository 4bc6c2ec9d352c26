import type { FastifyInstance } from 'fastify';
import { SECOND_MS } from '../lib/time.ts';
import { SEND_ROUTE } from '../stream/rest/stream-routes.ts';
import { label, type MetricsRegistry } from './metrics-registry.ts';

const BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/**
 * Measures the requests of a server. To be called before it listens.
 * @param onRefused called for a refused request to send messages
 */
export function addHttpMetrics(
  registry: MetricsRegistry,
  app: FastifyInstance,
  onRefused: (workgroupId: string, reason: string) => void,
): void {
  const durations = registry.addHistogram('wattline_http_request_duration_seconds', BUCKETS_SECONDS);
  app.addHook('onResponse', (request, reply, done) => {
    const { config, url: route = 'unknown' } = request.routeOptions;
    if (config?.rateLimited !== false) {
      const { method } = request;
      const labels = [label('method', method), label('route', route), label('status', `${reply.statusCode}`)];
      durations.observe(labels.join(), reply.elapsedTime / SECOND_MS);
      if (route === SEND_ROUTE && method === 'POST' && reply.errorCode !== undefined)
        onRefused((request.params as { workgroupId: string }).workgroupId, reply.errorCode);
    }
    done();
  });
}
