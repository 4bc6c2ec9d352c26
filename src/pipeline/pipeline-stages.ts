import { createRestSource, type RestSource, type TokenSource } from '../client/rest-source.ts';
import { createSocketSource, type SocketSource } from '../client/socket-source.ts';
import type { Transport } from '../client/stream-source.ts';
import type { Config, WorkgroupConfig } from '../config/config.ts';
import { settingPlace } from '../config/workgroup-place.ts';
import type { Workgroups } from '../config/workgroups.ts';
import { TerminalError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, elapsedOf, SECOND_MS, type UtcMs } from '../lib/time.ts';
import type { ShardStatus } from '../warehouse/shard-status.ts';
import { assignmentOf } from './assignment.ts';
import type { EventDelays } from './event-delays.ts';
import { failureWords } from './failure-words.ts';
import type { Pipeline } from './pipeline.ts';
import { type PollOptions, type PollResult, pollSlice } from './poll-slice.ts';
import type { BucketState } from './workgroup-bucket.ts';
import type { StatusBook, StatusStage, WorkgroupFigures } from './workgroup-status.ts';

export interface PipelineStagesOptions {
  config: Pick<Config, 'dataDir' | 'pipeline' | 'limits' | 'storage'>;
  workgroups: Workgroups;
  pipeline: Pipeline;
  status: StatusBook;
  clock: Clock;
  logger: Logger;
  /**
   * True if this process is told of new messages of a workgroup. Reads then return at once at the end of the
   * stream. Without such news the server holds them there until a message comes.
   */
  hasNews?: (workgroupId: string) => boolean;
  /** Called when the bucket has a new commit of a workgroup. */
  onCommitted?: (workgroupId: string, sequence: number) => void;
  /** Called after messages have landed, also during a run that continues. */
  onLanded?: (workgroupId: string) => void;
  /** Called with the delays of messages that have landed. */
  onEventDelays?: (delays: EventDelays) => void;
  /** How a workgroup's stream is read, with its address and token. */
  upstreamOf(workgroup: WorkgroupConfig): {
    url: string;
    workgroup: string;
    table: string;
    transport: Transport;
    socketPath?: string;
    token?: TokenSource;
  };
}

type MessageSource = RestSource | SocketSource;

/** Counts of the work of a run, for the log. */
interface Counted {
  counts: Record<string, number>;
}

/** The stages of the pipeline by workgroup. Each call reads its position and does a bounded piece of work. */
export interface PipelineStages {
  poll(workgroupId: string, signal: AbortSignal): Promise<PollResult & { more: boolean } & Counted>;
  rollup(workgroupId: string, signal: AbortSignal): Promise<Counted>;
  publish(workgroupId: string, signal: AbortSignal): Promise<{ againInMs: number | undefined } & Counted>;
  maintain(workgroupId: string, signal: AbortSignal): Promise<void>;
  /** @param how `isComplete`: new data is published first */
  commit(workgroupId: string, signal: AbortSignal, how?: { isComplete: boolean }): Promise<void>;
  /**
   * Notes the newest commit of the bucket, after an operation that can have committed. Does nothing without a
   * new commit.
   */
  noteCommit(workgroupId: string): Promise<void>;
  openShard(workgroupId: string): Promise<void>;
  closeShard(workgroupId: string): Promise<void>;
  close(): Promise<void>;
}

export function createPipelineStages(options: PipelineStagesOptions): PipelineStages {
  const { config, pipeline, status, clock, logger } = options;
  const sources = new Map<string, MessageSource>();

  function sourceOf(workgroupId: string): MessageSource {
    let source = sources.get(workgroupId);
    if (!source) {
      const { transport, ...upstream } = options.upstreamOf(workgroupOf(options, workgroupId));
      source =
        transport === 'socket'
          ? createSocketSource({ ...upstream, clock, logger: logger.child({ workgroup: workgroupId }) })
          : createRestSource({ ...upstream, clock });
      sources.set(workgroupId, source);
    }
    return source;
  }

  return {
    poll: (workgroupId, signal) =>
      runAndNote(options, workgroupId, 'poll', signal, async () =>
        poll(options, sourceOf(workgroupId), workgroupId, signal),
      ),
    rollup: (workgroupId, signal) =>
      runAndNote(options, workgroupId, 'rollup', signal, () => rollUp(options, workgroupId, signal)),
    publish: (workgroupId, signal) =>
      runAndNote(options, workgroupId, 'publish', signal, () => publish(options, workgroupId, signal)),
    maintain: (workgroupId, signal) =>
      runAndNote(options, workgroupId, 'maintain', signal, () => maintain(options, workgroupId, signal)),
    commit: (workgroupId, signal, how = { isComplete: false }) => commit(options, workgroupId, signal, how),
    async noteCommit(workgroupId) {
      const bucket = await pipeline.run(workgroupId, 'bucketState', undefined);
      if (bucket && bucket.sequence !== status.of(workgroupId).bucket?.sequence)
        noteBucket(options, workgroupId, bucket);
    },
    async openShard(workgroupId) {
      const { bucket } = await pipeline.open(assignmentOf(config, workgroupOf(options, workgroupId)));
      status.note(workgroupId, { bucket: undefined });
      if (bucket) noteBucket(options, workgroupId, bucket);
    },
    async closeShard(workgroupId) {
      const { bucket } = status.of(workgroupId);
      // Another worker can take it over from now on.
      if (bucket) status.note(workgroupId, { bucket: { ...bucket, isLakeComplete: false } });
      await pipeline.closeShard(workgroupId);
      await sources.get(workgroupId)?.close();
      sources.delete(workgroupId);
    },
    async close() {
      await pipeline.close();
      await Promise.all([...sources.values()].map((source) => source.close()));
    },
  };
}

function workgroupOf({ workgroups }: PipelineStagesOptions, workgroupId: string): WorkgroupConfig {
  const workgroup = workgroups.get(workgroupId);
  if (!workgroup) {
    throw new TerminalError('UnknownWorkgroup', `the configuration has no workgroup ${workgroupId}`);
  }
  return workgroup;
}

/** Runs a stage and stores its result in the status. */
async function runAndNote<Result>(
  { status, clock }: PipelineStagesOptions,
  workgroupId: string,
  stage: StatusStage,
  signal: AbortSignal,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    const result = await run();
    status.update(workgroupId, stage, {
      lastSuccessAtMs: clock.now(),
      lastError: undefined,
      failingSinceMs: undefined,
    });
    return result;
  } catch (error) {
    // An abort is not a failure.
    if (!signal.aborted) {
      const atMs = clock.now();
      status.update(workgroupId, stage, {
        lastError: { atMs, message: failureWords(error).message },
        failingSinceMs: status.of(workgroupId)[stage].failingSinceMs ?? atMs,
      });
    }
    throw error;
  }
}

async function poll(
  options: PipelineStagesOptions,
  source: MessageSource,
  workgroupId: string,
  signal: AbortSignal,
) {
  const { pipeline, status, clock } = options;
  let landedBefore = 0;
  const onProgress = (result: PollResult) => {
    const landed = result.messages + result.quarantined;
    if (landed > landedBefore) options.onLanded?.(workgroupId);
    landedBefore = landed;
    status.update(workgroupId, 'poll', {
      ...(result.nextOffset !== undefined && { nextOffset: String(result.nextOffset) }),
      transport: 'transport' in source ? source.transport : 'rest',
      upToDate: result.upToDate,
      lagMessages: result.lagMessages ?? (result.upToDate ? 0 : undefined),
      lagSeconds: lagSeconds(result, clock.now()),
      lastSuccessAtMs: clock.now(),
    });
  };
  const waitSeconds = options.hasNews?.(workgroupId) ? 0 : HELD_SECONDS;
  const onDelivered: PollOptions['onDelivered'] = ({ messages, quarantined, eventDelays }) => {
    const before = status.of(workgroupId).poll;
    status.update(workgroupId, 'poll', {
      messages: (before.messages ?? 0) + messages,
      quarantined: (before.quarantined ?? 0) + quarantined,
    });
    if (eventDelays) options.onEventDelays?.(eventDelays);
  };
  const listeners = { onProgress, onDelivered };
  const result = await pollSlice({ pipeline, source, workgroupId, signal, waitSeconds, ...listeners });
  onProgress(result);
  const { messages, quarantined } = result;
  return { ...result, more: !result.upToDate, counts: { messages, quarantined } };
}

/**
 * A run of the roll-up ends after this time, and its next run does the rest. Between the two, the results are
 * published.
 */
const ROLL_UP_TURN_MS = 10 * SECOND_MS;

async function rollUp(
  { pipeline, status, clock }: PipelineStagesOptions,
  workgroupId: string,
  signal: AbortSignal,
) {
  const counts = { readings: 0, rejected: 0, days: 0 };
  const endsAtMs = elapsedOf(clock) + ROLL_UP_TURN_MS;
  let more = true;
  while (more && !signal.aborted && elapsedOf(clock) < endsAtMs) {
    const result = await pipeline.run(workgroupId, 'rollUp', undefined);
    for (const name of ['readings', 'rejected', 'days'] as const) counts[name] += result[name];
    const rejected = (status.of(workgroupId).rollup.rejected ?? 0) + result.rejected;
    status.update(workgroupId, 'rollup', { batchId: String(result.batchId), rejected });
    more = result.more;
  }
  return { more, counts };
}

async function publish(
  { pipeline, status }: PipelineStagesOptions,
  workgroupId: string,
  signal: AbortSignal,
) {
  const published = await pipeline.run(workgroupId, 'publish', undefined, undefined, signal);
  const { sequence, currentDueInMs: againInMs, fill, head } = published;
  status.update(workgroupId, 'publish', { generation: sequence, generationAtMs: head?.createdAtMs });
  const { bucket } = status.of(workgroupId);
  // Reports read the bucket while the lake of this machine is not complete, and after the shard was closed.
  if (bucket?.fill && !signal.aborted)
    status.note(workgroupId, { bucket: { ...bucket, isLakeComplete: fill === undefined, fill } });
  const found = await pipeline.run(workgroupId, 'status', undefined);
  const { gaps, quarantined, messages: storedMessages, devices, imports, newestReadingAtMs } = found;
  status.note(workgroupId, { gaps, quarantined, storedMessages, devices, imports, newestReadingAtMs });
  status.note(workgroupId, { figures: figuresOf(found, head?.bytes) });
  const { files = 0, rows = 0, bytes = 0 } = published.kind === 'published' ? published : {};
  return { againInMs, counts: { files, rows, bytes } };
}

async function maintain(options: PipelineStagesOptions, workgroupId: string, signal: AbortSignal) {
  const { workgroups, pipeline, status } = options;
  await pipeline.run(workgroupId, 'maintain', { dryRun: false }, undefined, signal);
  const found = await pipeline.run(workgroupId, 'problems', undefined);
  const workgroup = workgroupOf(options, workgroupId);
  const index = workgroups.list().indexOf(workgroup);
  const problems = found.map(({ path, message }) => ({
    path: settingPlace(workgroup, index, path),
    message,
  }));
  status.note(workgroupId, { problems });
}

async function commit(
  options: PipelineStagesOptions,
  workgroupId: string,
  signal: AbortSignal,
  how: { isComplete: boolean },
) {
  const { pipeline, status, clock } = options;
  const before = status.of(workgroupId).bucket;
  try {
    const bucket = await pipeline.run(workgroupId, 'commit', how, undefined, signal);
    if (bucket) noteBucket(options, workgroupId, bucket);
  } catch (error) {
    const atMs = clock.now();
    const lastError = { atMs, message: failureWords(error).message };
    if (!signal.aborted && before)
      status.note(workgroupId, {
        bucket: { ...before, lastError, failingSinceMs: before.failingSinceMs ?? atMs },
      });
    throw error;
  }
}

function noteBucket(
  { status, onCommitted }: PipelineStagesOptions,
  workgroupId: string,
  { sequence, committedAtMs, fill }: BucketState,
): void {
  const before = status.of(workgroupId).bucket?.sequence;
  status.note(workgroupId, {
    bucket: {
      lastCommitAtMs: committedAtMs,
      sequence,
      failingSinceMs: undefined,
      lastError: undefined,
      isLakeComplete: fill === undefined,
      fill,
    },
  });
  if (sequence !== before) onCommitted?.(workgroupId, sequence);
}

function figuresOf(status: ShardStatus, lakeBytes: number | undefined): WorkgroupFigures {
  const { quarantinedByReason, daysFlagged, daysRestated, gapOpenMs, fileBytes, walBytes } = status;
  const days = { daysFlagged, daysRestated };
  return { quarantinedByReason, ...days, gapOpenMs, warehouseBytes: fileBytes + walBytes, lakeBytes };
}

/** How long a server may hold a read at the end of the stream. */
const HELD_SECONDS = 1;

function lagSeconds({ upToDate, lastStoreTimeMs }: PollResult, nowMs: UtcMs): number | undefined {
  if (upToDate) return 0;
  return lastStoreTimeMs === undefined
    ? undefined
    : Math.max(0, Math.round((nowMs - lastStoreTimeMs) / 1000));
}
