import type { WorkgroupConfig } from '../config/config.ts';
import { label, type MetricLabels } from './metrics-registry.ts';

/** The labels of the metrics of a workgroup. */
export interface WorkgroupLabels {
  readonly own: MetricLabels;
  /** The workgroup and one more label. */
  and(name: string, value: string): MetricLabels;
}

export function labelsOf({ id }: Pick<WorkgroupConfig, 'id'>): WorkgroupLabels {
  const own = label('workgroup', id);
  return { own, and: (name, value) => `${own},${label(name, value)}` };
}
