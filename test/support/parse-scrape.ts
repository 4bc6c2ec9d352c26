/** One line of an answer in the text format of Prometheus. */
export interface ScrapedSample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** An answer of `/metrics`. */
export interface Scrape {
  text: string;
  /** Type and help of each metric. */
  metrics: ReadonlyMap<string, { type: string; help: string }>;
  samples: readonly ScrapedSample[];
  /** The value of the only sample with this name and these labels. Undefined if there is none. */
  value(name: string, labels?: Record<string, string>): number | undefined;
}

export function parseScrape(text: string): Scrape {
  const metrics = new Map<string, { type: string; help: string }>();
  for (const [, name, help] of text.matchAll(/^# HELP (\S+) (.*)$/gm)) {
    const type = new RegExp(`^# TYPE ${name} (\\w+)$`, 'm').exec(text)![1]!;
    metrics.set(name!, { type, help: help! });
  }
  const samples = [...text.matchAll(/^([a-z]\w*)(?:\{(.*)\})? (\S+)$/gm)].map(([, name, labels, value]) => ({
    name: name!,
    labels: Object.fromEntries(
      [...(labels ?? '').matchAll(/(\w+)="([^"]*)"/g)].map(([, label, text]) => [label!, text!]),
    ),
    value: Number(value),
  }));
  const isWanted = (own: Record<string, string>, wanted: Record<string, string>) =>
    Object.entries(wanted).every(([label, text]) => own[label] === text);
  return {
    text,
    metrics,
    samples,
    value(name, labels = {}) {
      const found = samples.filter((one) => one.name === name && isWanted(one.labels, labels));
      if (found.length > 1) throw new Error(`${name} has ${found.length} samples with these labels`);
      return found[0]?.value;
    },
  };
}
