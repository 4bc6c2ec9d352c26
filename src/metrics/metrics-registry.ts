import { type MetricDefinition, type MetricName, type MetricPart, metricTable } from './metric-table.ts';

/** Labels as a scrape has them, such as `workgroup="home",stage="poll"`. Empty without labels. */
export type MetricLabels = string;

/** Adds a value of a metric. An unknown value is left out, because 0 would be a false statement. */
export type PutSample = (name: MetricName, value: number | undefined, labels?: MetricLabels) => void;
/** Reads values that the service has in memory. Called at each scrape. */
export type Sampler = (put: PutSample) => void;

/** The metrics of one service. */
export interface MetricsRegistry {
  readonly contentType: string;
  /**
   * Adds the gauges and counters of a part. Their values are read at each scrape, so nothing is kept for
   * them.
   */
  addSampler(part: MetricPart, sampler: Sampler): void;
  /** Adds a histogram of the table. */
  addHistogram(name: MetricName, boundsSeconds: readonly number[]): Histogram;
  /** Adds a histogram. Its observations are counted elsewhere. */
  addCountedHistogram(name: MetricName, read: () => CountedHistogram): void;
  /** All metrics in the text format of Prometheus. */
  text(): string;
}

interface Histogram {
  observe(labels: MetricLabels, seconds: number): void;
}

interface CountedHistogram {
  bounds: readonly number[];
  /**
   * For each bound, the number of observations above the bound before and up to this one. The last number
   * counts the observations above all bounds.
   */
  counts: readonly number[];
  sum: number;
}

/** One label. Several are joined by commas. */
export function label(name: string, value: string): MetricLabels {
  const text = /[\\\n"]/.test(value)
    ? value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
    : value;
  return `${name}="${text}"`;
}

/**
 * The text is written here and not by a library, because a scrape of 1,000 workgroups has tens of thousands
 * of lines. `prom-client` 15 and `@prometheus-io/client` 0.16 write the labels of each line again. The first
 * one takes ten times the CPU of joining finished texts.
 */
export function createMetricsRegistry(): MetricsRegistry {
  /**
   * The metrics in the order of the text. A histogram has its lines; the others get them from the samplers.
   */
  const metrics = new Map<MetricName, () => string>();
  const samplers: Sampler[] = [];
  return {
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
    addSampler(part, sampler) {
      for (const [name, definition] of Object.entries(metricTable) as Array<[MetricName, MetricDefinition]>)
        if (definition.part === part && definition.type !== 'histogram') metrics.set(name, () => '');
      samplers.push(sampler);
    },
    addHistogram(name, bounds) {
      const byLabels = new Map<MetricLabels, { counts: number[]; sum: number }>();
      metrics.set(name, () =>
        [...byLabels]
          .map(([labels, counted]) => histogramLines(name, { bounds, ...counted }, labels))
          .join(''),
      );
      return {
        observe(labels, seconds) {
          const counted = byLabels.get(labels) ?? { counts: new Array(bounds.length + 1).fill(0), sum: 0 };
          const index = bounds.findIndex((bound) => seconds <= bound);
          counted.counts[index < 0 ? bounds.length : index]!++;
          counted.sum += seconds;
          byLabels.set(labels, counted);
        },
      };
    },
    addCountedHistogram: (name, read) => void metrics.set(name, () => histogramLines(name, read())),
    text() {
      const blocks = new Map(
        [...metrics].map(([name, read]) => {
          const { help, type } = metricTable[name];
          return [name, { text: `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${read()}` }];
        }),
      );
      for (const sampler of samplers)
        sampler((name, value, labels = '') => {
          if (value !== undefined) blocks.get(name)!.text += line(name, labels, value);
        });
      return [...blocks.values()].map(({ text }) => text).join('\n');
    },
  };
}

function line(name: string, labels: MetricLabels, value: number): string {
  return labels === '' ? `${name} ${value}\n` : `${name}{${labels}} ${value}\n`;
}

/** Buckets are cumulative: each one counts the observations up to its bound. */
function histogramLines(name: string, { bounds, counts, sum }: CountedHistogram, labels = ''): string {
  let total = 0;
  const buckets = counts.map((count, index) => {
    total += count;
    const le = label('le', index < bounds.length ? String(bounds[index]) : '+Inf');
    return line(`${name}_bucket`, labels === '' ? le : `${le},${labels}`, total);
  });
  return [...buckets, line(`${name}_sum`, labels, sum), line(`${name}_count`, labels, total)].join('');
}
