import type { WorkgroupConfig } from '../config/config.ts';
import type { MetricLabels } from './metrics-registry.ts';

/** The labels of the metrics of a workgroup. The same objects are returned again, because each object is written as text only once. */
export interface WorkgroupLabels {
  readonly own: MetricLabels;
  /** The workgroup and one more label. */
  and(name: string, value: string): MetricLabels;
}

const known = new WeakMap<WorkgroupConfig, WorkgroupLabels>();

export function labelsOf(workgroup: WorkgroupConfig): WorkgroupLabels {
  let labels = known.get(workgroup);
  if (!labels) {
    labels = createLabels(workgroup.id);
    known.set(workgroup, labels);
  }
  return labels;
}

function createLabels(workgroup: string): WorkgroupLabels {
  const own = { workgroup };
  const byName = new Map<string, Map<string, MetricLabels>>();
  return {
    own,
    and(name, value) {
      const byValue = byName.get(name) ?? new Map<string, MetricLabels>();
      if (byValue.size === 0) byName.set(name, byValue);
      const labels = byValue.get(value) ?? { workgroup, [name]: value };
      if (!byValue.has(value)) byValue.set(value, labels);
      return labels;
    },
  };
}
