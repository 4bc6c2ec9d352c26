import { join } from 'node:path';
import { advance } from '../client/advance.ts';
import { createInterpreter, type Interpreter } from '../client/interpret.ts';
import { keepNew } from '../client/keep-new.ts';
import { type Ask, type DeliverStep, type Position, type Step, startPosition } from '../client/position.ts';
import type { RawAnswer } from '../client/rest.ts';
import type { Config, WorkgroupConfig } from '../config.ts';
import { TransientError } from '../errors.ts';
import type { Log } from '../log.ts';
import { type MaintainResult, maintain } from '../publish/maintain.ts';
import { type PublishResult, publish } from '../publish/publish.ts';
import { type RollUpResult, rollUp } from '../rollup/rollup.ts';
import type { Clock } from '../time.ts';
import { openShard, type Shard } from '../warehouse/shard.ts';
import type { ShardStatus } from '../warehouse/status.ts';

/** A workgroup to work on, as the thread needs it. */
export interface Assignment {
  workgroup: WorkgroupConfig;
  dataDir: string;
  pipeline: Config['pipeline'];
}

/** What a read came to, for whoever asked: plain values, without the messages. */
export type LandReply =
  | { kind: 'delivered'; messages: number; quarantined: number; position: Position; upToDate: boolean }
  | Exclude<Step, DeliverStep>
  /** The answer belongs to a place where the reader no longer stands: ask where it does. */
  | { kind: 'elsewhere'; position: Position };

/** What can be asked of an open shard. Adding an operation is one line here and one in `operations`. */
export interface Operations {
  position: { args: undefined; result: Position };
  land: { args: { ask: Ask; answer: RawAnswer }; result: LandReply };
  rollUp: { args: undefined; result: RollUpResult };
  publish: { args: undefined; result: PublishResult };
  maintain: { args: { dryRun: boolean }; result: MaintainResult };
  status: { args: undefined; result: ShardStatus };
}
export type OperationName = keyof Operations;

/** A shard that this thread has open, and where its reader stands. */
export interface OpenShard {
  shard: Shard;
  assignment: Assignment;
  interpret: Interpreter;
  position: Position;
  clock: Clock;
  log: Log;
}

export type Handler<Name extends OperationName> = (
  open: OpenShard,
  args: Operations[Name]['args'],
) => Promise<Operations[Name]['result']>;

const ORIGIN = 'stream';

export const operations: { readonly [Name in OperationName]: Handler<Name> } = {
  position: async (open) => open.position,
  land,
  rollUp: ({ shard, assignment, clock, log }) =>
    rollUp(shard, {
      workgroup: assignment.workgroup,
      clock,
      closeAfterMs: assignment.pipeline.closeAfter,
      log,
    }),
  publish: ({ shard, assignment, clock, log }) =>
    publish(shard, { lakeDir: lakeFolder(assignment), clock, log }),
  maintain: ({ shard, assignment, clock, log }, { dryRun }) =>
    maintain(shard, {
      lakeDir: lakeFolder(assignment),
      keepGenerationsMs: assignment.pipeline.keepGenerations,
      keepMessagesMs: assignment.pipeline.keepMessages,
      dryRun,
      clock,
      log,
    }),
  status: ({ shard }) => shard.status(),
};

/** Opens a workgroup's warehouse and puts its reader where the checkpoint is. */
export async function openAssignment(assignment: Assignment, clock: Clock, log: Log): Promise<OpenShard> {
  const { workgroup, dataDir, pipeline } = assignment;
  const shard = await openShard({
    path: join(dataDir, 'warehouse', `${workgroup.id}.duckdb`),
    workgroupId: workgroup.id,
    memoryMegabytes: pipeline.warehouseMemoryMegabytes,
    threads: pipeline.threads,
    folders: [lakeFolder(assignment)],
    clock,
    log,
  });
  const table = workgroup.upstream?.table;
  const interpret = createInterpreter(shard.names, { defaultTable: table === '-' ? undefined : table });
  return { shard, assignment, interpret, position: await storedPosition(shard), clock, log };
}

export function lakeFolder({ dataDir }: { dataDir: string }): string {
  return join(dataDir, 'lake');
}

async function storedPosition(shard: Shard): Promise<Position> {
  const checkpoint = await shard.checkpoint(ORIGIN);
  if (!checkpoint) return startPosition({ kind: 'oldest' });
  const { nextOffset, logEpoch, lastOffset, lastStoreTimeMs } = checkpoint;
  return startPosition(
    { kind: 'offset', offset: nextOffset },
    {
      ...(logEpoch !== undefined && { epoch: logEpoch }),
      ...(lastOffset !== undefined && { lastOffset }),
      ...(lastStoreTimeMs !== undefined && { lastStoreTimeMs }),
    },
  );
}

/**
 * Understands one answer of the upstream and lands what is new in it. Answers come in the order in which they were asked for; the
 * next one is understood while this one is still being committed, and refused by the landing if this one fails.
 */
async function land(open: OpenShard, { ask, answer }: Operations['land']['args']): Promise<LandReply> {
  const { shard, position } = open;
  if (!sameAsk(ask, position.ask)) return { kind: 'elsewhere', position };
  const outcome = open.interpret(answer);
  const step = advance(position, outcome);
  if (step.kind === 'fail') return step;
  open.position = step.position;
  if (step.kind !== 'deliver' || outcome.kind !== 'batch') return step as Exclude<Step, DeliverStep>;
  const { messages, upToDate } = step;
  const delivered = {
    kind: 'delivered' as const,
    messages,
    quarantined: 0,
    position: step.position,
    upToDate,
  };
  const next = step.position.ask;
  if (next.kind !== 'offset') return delivered;
  const quarantined = outcome.columns.rejected.length;
  if (messages === 0 && quarantined === 0 && !step.gap && sameAsk(next, ask)) return delivered;
  keepNew(outcome.columns, step.keep);
  try {
    const landed = await shard.land({
      origin: ORIGIN,
      columns: outcome.columns,
      fromOffset: ask.kind === 'offset' ? ask.offset : undefined,
      nextOffset: next.offset,
      logEpoch: step.position.epoch,
      gap: step.gap,
    });
    if (landed.kind === 'out-of-step' || landed.kind === 'recreated') {
      throw new TransientError(
        'OutOfStep',
        'the warehouse stands elsewhere than the reader; reading again from its checkpoint',
      );
    }
    return { ...delivered, quarantined: landed.kind === 'landed' ? landed.quarantined : 0 };
  } catch (error) {
    open.position = await storedPosition(shard);
    throw error;
  }
}

function sameAsk(one: Ask, other: Ask): boolean {
  if (one.kind === 'offset' && other.kind === 'offset') return one.offset === other.offset;
  if (one.kind === 'timestamp' && other.kind === 'timestamp') return one.timestampMs === other.timestampMs;
  return one.kind === other.kind;
}
