import type { FastifyInstance } from 'fastify';
import { addHttpMetrics } from './http-metrics.ts';
import type { MetricsContext } from './metrics-context.ts';
import { createMetricsRegistry, type MetricsRegistry } from './metrics-registry.ts';
import { createProcessSampler, type ProcessMetricsOptions } from './process-metrics.ts';
import { addStreamMetrics, type StreamView } from './stream-metrics.ts';
import { addWorkerMetrics } from './worker-metrics.ts';

/** The metrics of a service. Each role adds its own. */
interface ServiceMetrics {
  readonly registry: MetricsRegistry;
  /** To be called before the server listens. */
  watchHttp(app: FastifyInstance): void;
  watchStream(view: StreamView): void;
  addWorker(): ReturnType<typeof addWorkerMetrics>;
}

export function createServiceMetrics(
  options: Omit<MetricsContext, 'registry'> & ProcessMetricsOptions,
): ServiceMetrics {
  const registry = createMetricsRegistry();
  const context = { ...options, registry };
  let noteRefusal: ReturnType<typeof addStreamMetrics> = () => undefined;
  registry.addSampler('process', createProcessSampler(options));
  return {
    registry,
    watchHttp: (app) => addHttpMetrics(registry, app, (...refusal) => noteRefusal(...refusal)),
    watchStream(view) {
      noteRefusal = addStreamMetrics(context, view);
    },
    addWorker: () => addWorkerMetrics(context),
  };
}
