import { readdirSync, statfsSync } from 'node:fs';
import { SECOND_MS } from '../lib/time.ts';
import { label, type Sampler } from './metrics-registry.ts';

export interface ProcessMetricsOptions {
  version: string;
  roles: readonly string[];
  dataDir: string;
  retentionMs: number;
}

/**
 * Figures of the process and its disk. The collectors of `@prometheus-io/client` 0.16 are not used. They run
 * a timer ten times a second, cannot be stopped, and some of their names break the rules of Prometheus.
 */
export function createProcessSampler({
  version,
  roles,
  dataDir,
  retentionMs,
}: ProcessMetricsOptions): Sampler {
  const build = `${label('version', version)},${label('roles', roles.join())}`;
  return (put) => {
    put('wattline_build_info', 1, build);
    put('wattline_stream_retention_seconds', retentionMs / SECOND_MS);
    const { bavail, blocks, bsize } = statfsSync(dataDir);
    put('wattline_disk_free_bytes', bavail * bsize);
    put('wattline_disk_size_bytes', blocks * bsize);
    put('wattline_event_loop_busy_seconds_total', performance.eventLoopUtilization().active / SECOND_MS);
    const { user, system } = process.cpuUsage();
    put('process_cpu_seconds_total', (user + system) / 1e6);
    put('process_start_time_seconds', performance.timeOrigin / SECOND_MS);
    const { rss, heapUsed } = process.memoryUsage();
    put('process_resident_memory_bytes', rss);
    put('process_open_fds', countOpenFiles());
    put('nodejs_heap_size_used_bytes', heapUsed);
  };
}

function countOpenFiles(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    // Other systems than Linux do not have this folder.
    return undefined;
  }
}
