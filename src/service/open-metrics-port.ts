import type { Access } from '../access/access.ts';
import type { Config } from '../config/config.ts';
import { createHttpServer } from '../http/http-server.ts';
import type { MetricsRegistry } from '../metrics/metrics-registry.ts';
import { METRICS_URL, registerOpenMetricsRoute } from '../metrics/metrics-route.ts';
import { listenAt } from './listen-at.ts';
import type { Service } from './service.ts';

/** Scrapers are few, and a scrape of many workgroups takes milliseconds of the main thread. */
const SCRAPES_PER_MINUTE_MAX = 600;
const SCRAPER_CONNECTIONS_MAX = 100;

/**
 * Serves metrics at a port of their own, if the configuration has one.
 * @throws TransientError if the port is taken, TerminalError if the address cannot be used
 */
export async function openMetricsPort(
  { metrics }: Pick<Config, 'metrics'>,
  parts: Pick<Service, 'logger' | 'clock'> & { access: Access; registry: MetricsRegistry },
): Promise<{ url: string; close: () => Promise<void> } | undefined> {
  const { host, port } = metrics;
  if (port === undefined) return undefined;
  const app = createHttpServer({
    ...parts,
    requestsPerMinuteMax: SCRAPES_PER_MINUTE_MAX,
    connectionsMax: SCRAPER_CONNECTIONS_MAX,
  });
  registerOpenMetricsRoute(app, parts.registry);
  const settings = {
    address: 'metrics.host and metrics.port',
    port: 'metrics.port or WATTLINE_METRICS_PORT',
  };
  const url = await listenAt(app, { host, port }, settings);
  return { url: `${url}${METRICS_URL}`, close: () => app.close() };
}
