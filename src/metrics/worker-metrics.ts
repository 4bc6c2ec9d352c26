import type { WorkgroupConfig } from '../config/config.ts';
import { workgroupWarnings } from '../config/config-warnings.ts';
import type { ExportState } from '../exports/list-exports.ts';
import { SECOND_MS, type UtcMs } from '../lib/time.ts';
import { currentLag } from '../operate/current-lag.ts';
import { clockTroubles } from '../pipeline/clock-troubles.ts';
import { type EventDelays, eventDelayBoundsSeconds } from '../pipeline/event-delays.ts';
import type { WorkgroupStatus } from '../pipeline/workgroup-status.ts';
import type { MetricsContext } from './metrics-context.ts';
import { label, type MetricLabels, type PutSample } from './metrics-registry.ts';
import { labelsOf, type WorkgroupLabels } from './workgroup-labels.ts';

/** The values that a worker has in memory. */
export interface WorkerView {
  /** Each configured workgroup, with its open stages. */
  shards(): readonly ShardView[];
  /**
   * The status of a workgroup that this worker has open, or that hibernates. Undefined if it is not known.
   */
  statusOf(workgroupId: string, isHibernated: boolean): WorkgroupStatus | undefined;
  /** Finished attempts to send alerts, by channel and outcome. */
  alertsSent(): ReadonlyMap<string, ReadonlyMap<string, number>>;
  exports(): Iterable<readonly [{ config: { id: string }; workgroup: { id: string } }, ExportState]>;
}

interface ShardView {
  workgroupId: string;
  /** See `ShardState` of the worker. */
  state: string;
  failingSinceMs: UtcMs | null;
  stages: ReadonlyArray<{ stage: string; lastSuccessAtMs: UtcMs | null }>;
}

/** The events of a worker that are counted. */
export interface WorkerEvents {
  onStageEnded(run: { workgroupId: string; stage: string; durationMs: number; hasFailed: boolean }): void;
  onEventDelays(delays: EventDelays): void;
}

const STAGE_BUCKETS_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600];

/**
 * Adds the metrics of a worker.
 * @returns the functions to call with its events, and with its state when it runs
 */
export function addWorkerMetrics({ registry, workgroups, clock }: MetricsContext): {
  events: WorkerEvents;
  watch(view: WorkerView): void;
} {
  let view: WorkerView | undefined;
  const durations = registry.addHistogram('wattline_stage_duration_seconds', STAGE_BUCKETS_SECONDS);
  const delays = { counts: new Array<number>(eventDelayBoundsSeconds.length + 1).fill(0), sum: 0 };
  registry.addCountedHistogram('wattline_event_delay_seconds', () => ({
    bounds: eventDelayBoundsSeconds,
    ...delays,
  }));
  /** Failures by workgroup and stage. */
  const failures = new Map<string, Map<string, number>>();
  /**
   * Workgroups that another worker had at the last look. The facts that this worker has about them are old
   * until it opens them.
   */
  const elsewhere = new Set<string>();

  registry.addSampler('worker', (put) => {
    for (const shard of view?.shards() ?? []) {
      const workgroup = workgroups.get(shard.workgroupId);
      if (workgroup && isOwn(shard)) putWorkgroup(put, shard, workgroup);
    }
    for (const [channel, outcomes] of view?.alertsSent() ?? [])
      for (const [outcome, count] of outcomes)
        put('wattline_alerts_sent_total', count, `${label('channel', channel)},${label('outcome', outcome)}`);
    for (const [
      {
        config,
        workgroup: { id },
      },
      state,
    ] of view?.exports() ?? []) {
      const workgroup = workgroups.get(id);
      if (workgroup) putExport(put, labelsOf(workgroup).and('export', config.id), state);
    }
  });

  function isOwn({ workgroupId, state, failingSinceMs }: ShardView): boolean {
    if (state === 'hibernated') return !elsewhere.has(workgroupId);
    const isElsewhere = state === 'elsewhere' || (state === 'waiting' && failingSinceMs === null);
    if (isElsewhere) elsewhere.add(workgroupId);
    else elsewhere.delete(workgroupId);
    return !isElsewhere;
  }

  function putWorkgroup(put: PutSample, shard: ShardView, workgroup: WorkgroupConfig): void {
    const { workgroupId, state, stages } = shard;
    const labels = labelsOf(workgroup);
    const { own, and } = labels;
    const isHibernated = state === 'hibernated';
    const status = view?.statusOf(workgroupId, isHibernated);
    put('wattline_up_to_date', isUpToDate(state, status) ? 1 : 0, own);
    put('wattline_config_problems', (status?.problems.length ?? 0) + warningsOf(workgroup), own);
    for (const { stage, lastSuccessAtMs } of stages) {
      const succeededAt = seconds(lastSuccessAtMs ?? undefined);
      put('wattline_stage_last_success_timestamp_seconds', succeededAt, and('stage', stage));
    }
    for (const [stage, count] of failures.get(workgroupId) ?? [])
      put('wattline_stage_failures_total', count, and('stage', stage));
    if (status) putStatus(put, status, labels, { workgroup, isHibernated, nowMs: clock.now() });
  }

  return {
    events: {
      onStageEnded({ workgroupId, stage, durationMs, hasFailed }) {
        durations.observe(label('stage', stage), durationMs / SECOND_MS);
        const counts = failures.get(workgroupId) ?? new Map<string, number>();
        // A counter begins at 0, so that its first increase is seen.
        failures.set(workgroupId, counts.set(stage, (counts.get(stage) ?? 0) + (hasFailed ? 1 : 0)));
      },
      onEventDelays({ counts, sumSeconds }) {
        for (const [index, count] of counts.entries()) delays.counts[index]! += count;
        delays.sum += sumSeconds;
      },
    },
    watch(started) {
      view = started;
    },
  };
}

function putStatus(
  put: PutSample,
  status: WorkgroupStatus,
  { own, and }: WorkgroupLabels,
  { workgroup, isHibernated, nowMs }: { workgroup: WorkgroupConfig; isHibernated: boolean; nowMs: UtcMs },
): void {
  const { poll, rollup, publish, figures, devices } = status;
  const troubles = [...(status.troubles ?? []), ...clockTroubles(workgroup, status, nowMs)];
  // It hibernates only if it has read everything.
  const lag = isHibernated ? { lagMessages: 0, lagSeconds: 0 } : currentLag(status, nowMs).poll;
  put('wattline_poll_lag_messages', lag.lagMessages, own);
  put('wattline_poll_lag_seconds', lag.lagSeconds, own);
  put('wattline_landed_messages_total', poll.messages ?? 0, own);
  put('wattline_quarantine_entries_total', (poll.quarantined ?? 0) + (rollup.rejected ?? 0), own);
  put('wattline_newest_event_timestamp_seconds', seconds(status.newestReadingAtMs), own);
  put('wattline_generation', publish.generation, own);
  put('wattline_generation_timestamp_seconds', seconds(publish.generationAtMs), own);
  for (const [stage, found] of Map.groupBy(troubles, (trouble) => trouble.stage))
    put('wattline_troubles', found.length, and('stage', stage));
  for (const [state, count] of Object.entries(devices ?? {}))
    put('wattline_devices', count, and('state', state));
  if (!figures) return;
  put('wattline_gaps_open', status.gaps, own);
  put('wattline_gap_open_seconds', seconds(figures.gapOpenMs), own);
  for (const [reason, count] of Object.entries(figures.quarantinedByReason))
    put('wattline_quarantined', count, and('reason', reason));
  for (const [flag, count] of Object.entries(figures.daysFlagged))
    put('wattline_daily_energy_flagged', count, and('flag', flag));
  put('wattline_daily_energy_restated_total', figures.daysRestated, own);
  put('wattline_warehouse_bytes', figures.warehouseBytes, own);
  put('wattline_lake_bytes', figures.lakeBytes, own);
}

function putExport(
  put: PutSample,
  labels: MetricLabels,
  { pending, failed, outdated, lastDeliveredAt }: ExportState,
): void {
  put('wattline_exports_pending', pending, labels);
  put('wattline_exports_failed', failed, labels);
  put('wattline_exports_outdated', outdated, labels);
  const deliveredAtMs = lastDeliveredAt === null ? undefined : Date.parse(lastDeliveredAt);
  put('wattline_export_last_success_timestamp_seconds', seconds(deliveredAtMs), labels);
}

function isUpToDate(state: string, status: WorkgroupStatus | undefined): boolean {
  if (state === 'hibernated') return true;
  if ((state !== 'owned' && state !== 'hibernating') || !status?.poll.upToDate) return false;
  const { poll, rollup, publish, troubles = [] } = status;
  return troubles.length === 0 && ![poll, rollup, publish].some(({ lastError }) => lastError);
}

/** The number of warnings about a workgroup. The same object means the same settings. */
const warnings = new WeakMap<WorkgroupConfig, number>();

function warningsOf(workgroup: WorkgroupConfig): number {
  const count = warnings.get(workgroup) ?? workgroupWarnings(workgroup).length;
  warnings.set(workgroup, count);
  return count;
}

function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / SECOND_MS;
}
