import { statfsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { DAY_MS } from '../../src/lib/time.ts';
import { createProcessSampler } from '../../src/metrics/process-metrics.ts';
import { tempDir } from '../support/temp-dir.ts';

test('times are in seconds, and the disk is in bytes', () => {
  const dataDir = tempDir();
  const values = new Map<string, number | undefined>();
  let labels = '';
  const cpuBefore = process.cpuUsage();
  createProcessSampler({ version: '1.2', roles: ['stream', 'report'], dataDir, retentionMs: DAY_MS })(
    (name, value, of) => {
      values.set(name, value);
      if (of !== undefined) labels = of;
    },
  );
  const cpuAfter = process.cpuUsage();
  expect(labels).toBe('version="1.2",roles="stream,report"');
  expect(values.get('wattline_build_info')).toBe(1);
  expect(values.get('wattline_stream_retention_seconds')).toBe(86_400);
  const { blocks, bavail, bsize } = statfsSync(dataDir);
  expect(values.get('wattline_disk_size_bytes')).toBe(blocks * bsize);
  // Others write to the disk, too.
  const freeShare = values.get('wattline_disk_free_bytes')! / (bavail * bsize);
  expect(freeShare).toBeGreaterThan(0.5);
  expect(freeShare).toBeLessThan(2);
  expect(values.get('process_start_time_seconds')).toBe(performance.timeOrigin / 1_000);
  const cpu = values.get('process_cpu_seconds_total')!;
  expect(cpu).toBeGreaterThanOrEqual((cpuBefore.user + cpuBefore.system) / 1e6);
  expect(cpu).toBeLessThanOrEqual((cpuAfter.user + cpuAfter.system) / 1e6);
  const busy = values.get('wattline_event_loop_busy_seconds_total')!;
  expect(busy).toBeLessThanOrEqual(performance.now() / 1_000);
  expect(values.get('process_open_fds')).toBeGreaterThan(3);
});
