import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { offsetOf } from '../../src/contract/offset.ts';
import type { ExportState } from '../../src/exports/list-exports.ts';
import { createMetricsRegistry } from '../../src/metrics/metrics-registry.ts';
import { addWorkerMetrics, type WorkerView } from '../../src/metrics/worker-metrics.ts';
import { emptyStatus, type WorkgroupStatus } from '../../src/pipeline/workgroup-status.ts';
import { parseScrape } from '../support/parse-scrape.ts';

const nowMs = Date.UTC(2026, 10, 23);

const exported: ExportState = {
  id: 'billing',
  lastRun: null,
  lastDeliveredAt: '2026-11-20T06:00:00.000Z',
  pending: 11,
  failed: 12,
  troubled: [],
  outdated: 13,
  outdatedWh: 0,
};

/** The metrics of a worker with one workgroup. The test changes its state. */
function setUp() {
  const registry = createMetricsRegistry();
  const workgroups = createWorkgroups(configSchema.parse({ workgroups: [{ id: 'home' }] }));
  const worker = addWorkerMetrics({ registry, workgroups, clock: { now: () => nowMs } });
  const shard = { workgroupId: 'home', state: 'owned', failingSinceMs: null as number | null };
  const stages = [{ stage: 'poll', lastSuccessAtMs: (nowMs - 1_500) as number | null }];
  let status: WorkgroupStatus = { ...emptyStatus('home', nowMs), poll: { upToDate: true, lagSeconds: 0 } };
  const view: WorkerView = {
    shards: () => [{ ...shard, stages }],
    statusOf: () => status,
    exports: () => [[{ config: { id: 'billing' }, workgroup: { id: 'home' } }, exported]],
    alertsSent: () => new Map([['ops', new Map([['told', 2]])]]),
  };
  worker.watch(view);
  return {
    ...worker,
    workgroups,
    become: (facts: Partial<typeof shard>) => Object.assign(shard, facts),
    note(facts: Partial<WorkgroupStatus>) {
      status = { ...status, ...facts };
    },
    scrape: async () => parseScrape(registry.text()),
  };
}

test('a workgroup is up to date if everything is read and nothing fails', async () => {
  const { scrape, note, become } = setUp();
  const upToDate = async () => (await scrape()).value('wattline_up_to_date');
  expect(await upToDate()).toBe(1);
  note({ rollup: { lastError: { atMs: nowMs, message: 'no' } } });
  expect(await upToDate()).toBe(0);
  note({ rollup: {}, troubles: [{ stage: 'commit', state: 'late', sinceMs: nowMs, message: 'no' }] });
  expect(await upToDate()).toBe(0);
  expect((await scrape()).value('wattline_troubles', { stage: 'commit' })).toBe(1);
  note({ troubles: [] });
  become({ state: 'opening' });
  expect(await upToDate()).toBe(0);
  become({ state: 'hibernated' });
  expect(await upToDate()).toBe(1);
});

test('the lag grows while reading fails, and is 0 while the workgroup hibernates', async () => {
  const { scrape, note, become } = setUp();
  const lastError = { atMs: nowMs, message: 'no' };
  note({ poll: { upToDate: true, lagSeconds: 2, lastSuccessAtMs: nowMs - 60_000, lastError } });
  expect((await scrape()).value('wattline_poll_lag_seconds')).toBe(62);
  become({ state: 'hibernated' });
  expect((await scrape()).value('wattline_poll_lag_seconds')).toBe(0);
});

test('store times ahead of the clock are a trouble of the stage that stores', async () => {
  const { scrape, note } = setUp();
  const troubles = async () => (await scrape()).value('wattline_troubles', { stage: 'store' });
  note({ poll: { nextOffset: String(offsetOf(nowMs + 60_000)) } });
  expect(await troubles()).toBeUndefined();
  note({ poll: { nextOffset: String(offsetOf(nowMs + 3_600_000)) } });
  expect(await troubles()).toBe(1);
});

test('a workgroup of another worker has no metrics here, also after that worker has let it hibernate', async () => {
  const { scrape, become } = setUp();
  const isThere = async () => (await scrape()).value('wattline_up_to_date') !== undefined;
  become({ state: 'elsewhere' });
  expect(await isThere()).toBe(false);
  become({ state: 'hibernated' });
  expect(await isThere()).toBe(false);
  become({ state: 'owned' });
  expect(await isThere()).toBe(true);
  become({ state: 'hibernated' });
  expect(await isThere()).toBe(true);
  // It is taken by another worker, which is no failure. Then it cannot be opened, which is one.
  become({ state: 'waiting' });
  expect(await isThere()).toBe(false);
  become({ failingSinceMs: nowMs });
  expect((await scrape()).value('wattline_up_to_date')).toBe(0);
});

test('a removed workgroup has no metrics', async () => {
  const { scrape, workgroups, events } = setUp();
  events.onStageEnded({ workgroupId: 'home', stage: 'poll', durationMs: 5, hasFailed: true });
  expect((await scrape()).text).toContain('workgroup="home"');
  workgroups.replace(configSchema.parse({ workgroups: [{ id: 'other' }] }));
  expect((await scrape()).text).not.toContain('workgroup="home"');
});

test('runs and failures of stages are counted, and an unknown value is absent', async () => {
  const { scrape, events } = setUp();
  const run = { workgroupId: 'home', stage: 'poll', durationMs: 70 };
  events.onStageEnded({ ...run, hasFailed: false });
  const failures = async () => (await scrape()).value('wattline_stage_failures_total', { stage: 'poll' });
  expect(await failures()).toBe(0);
  events.onStageEnded({ ...run, hasFailed: true });
  expect(await failures()).toBe(1);
  const found = await scrape();
  const bucket = (le: string) => found.value('wattline_stage_duration_seconds_bucket', { stage: 'poll', le });
  expect(['0.05', '0.1', '+Inf'].map(bucket)).toEqual([0, 2, 2]);
  expect(found.value('wattline_stage_duration_seconds_sum', { stage: 'poll' })).toBeCloseTo(0.14);
  expect(found.value('wattline_stage_last_success_timestamp_seconds')).toBe(nowMs / 1000 - 1.5);
  // Nothing was published yet.
  for (const name of ['wattline_gaps_open', 'wattline_lake_bytes', 'wattline_generation'])
    expect(found.value(name)).toBeUndefined();
});

test('delays of several reads are added, and buckets are cumulative', async () => {
  const { scrape, events } = setUp();
  const counts = [3, 2, ...new Array<number>(10).fill(0), 1];
  events.onEventDelays({ counts, sumSeconds: 10 });
  events.onEventDelays({ counts, sumSeconds: 5 });
  const found = await scrape();
  const bucket = (le: string) => found.value('wattline_event_delay_seconds_bucket', { le });
  expect(['1', '2', '604800', '+Inf'].map(bucket)).toEqual([6, 10, 10, 12]);
  expect(found.value('wattline_event_delay_seconds_count')).toBe(12);
  expect(found.value('wattline_event_delay_seconds_sum')).toBe(15);
});

test('each value of a status has its own metric, with its unit and label', async () => {
  const { scrape, note } = setUp();
  note({
    poll: { upToDate: false, lagMessages: 14, lagSeconds: 15, messages: 16, quarantined: 17 },
    rollup: { rejected: 18 },
    publish: { generation: 19, generationAtMs: nowMs - 6_000 },
    gaps: 2,
    newestReadingAtMs: nowMs - 5_000,
    devices: { online: 3, offline: 4, asleep: 5, unknown: 1 },
    figures: {
      quarantinedByReason: { 'unknown-table': 6 },
      daysFlagged: { contradicted: 7 },
      daysRestated: 8,
      gapOpenMs: 90_000,
      warehouseBytes: 1_000,
      lakeBytes: 2_000,
    },
  });
  const found = await scrape();
  const home = { workgroup: 'home' };
  const billing = { ...home, export: 'billing' };
  for (const [name, value, labels] of [
    ['poll_lag_messages', 14, home],
    ['poll_lag_seconds', 15, home],
    ['landed_messages_total', 16, home],
    ['quarantine_entries_total', 17 + 18, home],
    ['generation', 19, home],
    ['generation_timestamp_seconds', nowMs / 1_000 - 6, home],
    ['gaps_open', 2, home],
    ['gap_open_seconds', 90, home],
    ['newest_event_timestamp_seconds', nowMs / 1_000 - 5, home],
    ['devices', 3, { ...home, state: 'online' }],
    ['devices', 4, { ...home, state: 'offline' }],
    ['devices', 5, { ...home, state: 'asleep' }],
    ['devices', 1, { ...home, state: 'unknown' }],
    ['quarantined', 6, { ...home, reason: 'unknown-table' }],
    ['daily_energy_flagged', 7, { ...home, flag: 'contradicted' }],
    ['daily_energy_restated_total', 8, home],
    ['warehouse_bytes', 1_000, home],
    ['lake_bytes', 2_000, home],
    ['exports_pending', 11, billing],
    ['exports_failed', 12, billing],
    ['exports_outdated', 13, billing],
    ['export_last_success_timestamp_seconds', Date.UTC(2026, 10, 20, 6) / 1_000, billing],
  ] as const)
    expect(found.value(`wattline_${name}`, labels), name).toBe(value);
});
