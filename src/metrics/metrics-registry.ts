import { Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import { type MetricDefinition, type MetricName, type MetricPart, metricTable } from './metric-table.ts';

export type MetricLabels = Readonly<Record<string, string>>;

/** Adds a value of a metric. An unknown value is left out, because 0 would be a false statement. */
export type PutSample = (name: MetricName, value: number | undefined, labels?: MetricLabels) => void;
/** Reads values that the service has in memory. Called at each scrape. */
export type Sampler = (put: PutSample) => void;

/** The metrics of one service. There is no global registry, because a process can run several services. */
export interface MetricsRegistry {
  readonly contentType: string;
  /** Adds the gauges and counters of a part. Their values are read at each scrape, so nothing is kept for them. */
  addSampler(part: MetricPart, sampler: Sampler): void;
  /** Adds a histogram of the table. */
  addHistogram(name: MetricName, bucketsSeconds: readonly number[]): Histogram<string>;
  /** Adds a histogram whose observations are counted elsewhere. */
  addCountedHistogram(name: MetricName, read: () => CountedHistogram): void;
  /** All metrics in the text format of Prometheus. */
  text(): Promise<string>;
}

export interface CountedHistogram {
  bounds: readonly number[];
  /** For each bound the observations up to it and above the bound before; at the end the observations above all bounds. */
  counts: readonly number[];
  sum: number;
}

interface Sample {
  value: number;
  labels: MetricLabels;
  /** The library writes an object of shared labels as text only once, which halves the time of a scrape. It uses them for histograms. */
  sharedLabels?: MetricLabels;
  metricName?: string;
}

const NO_LABELS: MetricLabels = {};

export function createMetricsRegistry(): MetricsRegistry {
  const registry = new Registry();
  const samplers: Sampler[] = [];
  let samples = new Map<string, Sample[]>();

  /** Registers a metric whose values are read when it is written. */
  function register(name: MetricName, readValues: () => Sample[]): void {
    const { help, type }: MetricDefinition = metricTable[name];
    const Kind = type === 'counter' ? Counter : Gauge;
    const metric = new Kind({ name, help, registers: [registry] });
    const facts = { name, help, type, aggregator: 'sum' as const, collect: () => undefined };
    metric.get = async () => ({ ...facts, values: readValues() as never });
  }

  return {
    contentType: registry.contentType,
    addSampler(part, sampler) {
      for (const [name, definition] of Object.entries(metricTable) as Array<[MetricName, MetricDefinition]>)
        if (definition.part === part && definition.type !== 'histogram')
          register(name, () => samples.get(name) ?? []);
      samplers.push(sampler);
    },
    addHistogram(name, bucketsSeconds) {
      const { help, labels } = metricTable[name];
      return new Histogram({
        name,
        help,
        labelNames: [...labels],
        buckets: [...bucketsSeconds],
        registers: [registry],
      });
    },
    addCountedHistogram: (name, read) => register(name, () => histogramSamples(name, read())),
    text() {
      const found = new Map<string, Sample[]>();
      for (const sampler of samplers)
        sampler((name, value, labels = NO_LABELS) => {
          if (value === undefined) return;
          const list = found.get(name);
          const sample = { value, labels: NO_LABELS, sharedLabels: labels };
          if (list) list.push(sample);
          else found.set(name, [sample]);
        });
      samples = found;
      return registry.metrics();
    },
  };
}

/** Buckets are cumulative: each one counts the observations up to its bound. */
function histogramSamples(name: string, { bounds, counts, sum }: CountedHistogram): Sample[] {
  let total = 0;
  const buckets = counts.map((count, index) => {
    total += count;
    const le = index < bounds.length ? String(bounds[index]) : '+Inf';
    return { value: total, labels: { le }, metricName: `${name}_bucket` };
  });
  return [
    ...buckets,
    { value: sum, labels: NO_LABELS, metricName: `${name}_sum` },
    { value: total, labels: NO_LABELS, metricName: `${name}_count` },
  ];
}
