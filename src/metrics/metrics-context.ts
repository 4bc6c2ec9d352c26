import type { Workgroups } from '../config/workgroups.ts';
import type { Clock } from '../lib/time.ts';
import type { MetricsRegistry } from './metrics-registry.ts';

/** The objects that the parts of the metrics share. */
export interface MetricsContext {
  registry: MetricsRegistry;
  /** Only configured workgroups have metrics. */
  workgroups: Pick<Workgroups, 'get' | 'list'>;
  clock: Clock;
}
