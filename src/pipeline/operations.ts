import { join } from 'node:path';
import { createAudit } from '../audit/audit.ts';
import { localActor } from '../audit/local-actor.ts';
import { type BackfillJob, type BackfillJobState, createBackfillJob } from '../backfill/job.ts';
import type { ListedBackfill } from '../backfill/ledger.ts';
import type { OpenGap } from '../backfill/plan.ts';
import type { BackfillPlan, BackfillRequest, UpstreamAddress } from '../backfill/request.ts';
import { advance } from '../client/advance.ts';
import { createInterpreter, type Interpreter } from '../client/interpret.ts';
import { keepNew } from '../client/keep-new.ts';
import {
  type Ask,
  type DeliverStep,
  type Position,
  type Step,
  sameAsk,
  startPosition,
} from '../client/position.ts';
import type { RawAnswer } from '../client/rest.ts';
import type { Config, WorkgroupConfig } from '../config.ts';
import type { MessageColumns } from '../contract/columns.ts';
import { limits } from '../contract/limits.ts';
import { type Problem, TransientError } from '../errors.ts';
import { explainDay } from '../explain/explain.ts';
import type { ExplainArgs, Explained } from '../explain/explained.ts';
import type { ImportRequest } from '../import/import-file.ts';
import { createImportJob, type ImportJob, type ImportState } from '../import/job.ts';
import type { Log } from '../log.ts';
import { findProblems } from '../problems/find.ts';
import { type MaintainResult, maintain } from '../publish/maintain.ts';
import { type PublishResult, publish } from '../publish/publish.ts';
import { type RollUpResult, rollUp } from '../rollup/rollup.ts';
import { type Clock, SECOND_MS } from '../time.ts';
import { listUploads, type UploadList } from '../upload/list.ts';
import type { StoreOutcome } from '../upload/store.ts';
import { type TakeRequest, takeUpload } from '../upload/take.ts';
import { noteDeviceStatus } from '../warehouse/device-status.ts';
import type { LandInput } from '../warehouse/plan.ts';
import { readShard } from '../warehouse/read-shard.ts';
import { openShard, type Shard } from '../warehouse/shard.ts';
import type { ShardStatus } from '../warehouse/status.ts';
import { toPlainError } from './messages.ts';
import { afterFailure, afterSuccess, isHopeless, type Stuck } from './stuck.ts';
import { withinTime } from './within-time.ts';

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
  /** Where to read on, and how many messages at a time. */
  position: { args: undefined; result: { ask: Ask; messagesMax: number } };
  land: { args: { ask: Ask; answer: RawAnswer }; result: LandReply };
  rollUp: { args: undefined; result: RollUpResult };
  publish: { args: undefined; result: PublishResult };
  maintain: { args: { dryRun: boolean }; result: MaintainResult };
  status: { args: undefined; result: ShardStatus };
  /** What the data say against the configuration. */
  problems: { args: undefined; result: Problem[] };
  /** What a day of a device follows from. */
  explain: { args: ExplainArgs; result: Explained };
  /** Begins to import a file; `importState` tells how far it is and what it came to. */
  importStart: { args: ImportRequest; result: undefined };
  importState: { args: undefined; result: ImportState };
  importStop: { args: undefined; result: undefined };
  /** Stores meter data or budgets that were uploaded. */
  upload: { args: TakeRequest; result: StoreOutcome };
  /** What was uploaded and counts. */
  uploads: { args: undefined; result: UploadList };
  /** Begins a backfill, or goes on with it; `backfillState` tells how far it is and what it came to. */
  backfillStart: { args: FromUpstream & { request: BackfillRequest }; result: undefined };
  backfillState: { args: undefined; result: BackfillJobState };
  backfillStop: { args: undefined; result: undefined };
  backfillPlan: { args: FromUpstream & { request: BackfillRequest }; result: BackfillPlan };
  backfillList: { args: undefined; result: ListedBackfill[] };
  backfillCancel: { args: { backfillId: number }; result: undefined };
  /** Stretches of the stream that are missing, and what the upstream still has of them. */
  backfillGaps: { args: FromUpstream; result: OpenGap[] };
}
export type OperationName = keyof Operations;

/** Of an operation that reads the stream: where. Whoever asks from outside does not say it. */
interface FromUpstream {
  upstream?: UpstreamAddress;
}

/** A shard that this thread has open, and where its reader stands. */
export interface OpenShard {
  shard: Shard;
  assignment: Assignment;
  interpret: Interpreter;
  position: Position;
  stuck: Stuck | undefined;
  imports: ImportJob;
  backfills: BackfillJob;
  clock: Clock;
  log: Log;
}

export type Handler<Name extends OperationName> = (
  open: OpenShard,
  args: Operations[Name]['args'],
  signal?: AbortSignal,
) => Promise<Operations[Name]['result']>;

type Connection = Awaited<ReturnType<Shard['connect']>>;

const ORIGIN = 'stream';

/** A day of ten million readings takes a tenth of it. */
const EXPLAIN_MS_MAX = 20 * SECOND_MS;

export const operations: { readonly [Name in OperationName]: Handler<Name> } = {
  position: async ({ position, stuck }) => ({
    ask: position.ask,
    messagesMax: stuck?.messagesMax ?? limits.messagesPerReadMax,
  }),
  land,
  rollUp: ({ shard, assignment, clock, log }) =>
    rollUp(shard, {
      workgroup: assignment.workgroup,
      clock,
      closeAfterMs: assignment.pipeline.closeAfter,
      log,
    }),
  async publish({ shard, assignment, clock, log }, _args, signal) {
    await shard.transaction((connection) => noteDeviceStatus(connection, clock.now()));
    return publish(shard, {
      lakeDir: lakeFolder(assignment),
      declared: assignment.workgroup,
      clock,
      log,
      ...(signal && { signal }),
    });
  },
  maintain: ({ shard, assignment, clock, log }, { dryRun }, signal) =>
    maintain(shard, {
      lakeDir: lakeFolder(assignment),
      keepGenerationsMs: assignment.pipeline.keepGenerations,
      keepMessagesMs: assignment.pipeline.keepMessages,
      dryRun,
      clock,
      log,
      ...(signal && { signal }),
    }),
  status: ({ shard }) => shard.status(),
  problems: ({ shard, assignment }) =>
    reading(shard, (connection) => findProblems(connection, assignment.workgroup)),
  explain: ({ shard, assignment: { workgroup }, clock }, args) =>
    reading(shard, (connection) =>
      withinTime(connection, EXPLAIN_MS_MAX, () =>
        explainDay(connection, args, { workgroup, nowMs: clock.now() }),
      ),
    ),
  importStart: async ({ imports }, request) => void imports.start(request),
  importState: ({ imports }) => imports.state(),
  importStop: async ({ imports }) => void (await imports.stop()),
  upload: ({ shard, assignment: { dataDir }, clock, log }, request) => {
    const audit = createAudit({ dataDir, actor: localActor(), clock });
    return takeUpload(shard, request, { audit, clock, log });
  },
  uploads: ({ shard }) => reading(shard, listUploads),
  backfillStart: async ({ backfills }, { request, upstream }) => void backfills.start(request, upstream),
  backfillState: ({ backfills }) => backfills.state(),
  backfillStop: async ({ backfills }) => void (await backfills.stop()),
  backfillPlan: ({ backfills }, { request, upstream }) => backfills.plan(request, upstream),
  backfillList: ({ backfills }) => backfills.list(),
  backfillCancel: async ({ backfills }, { backfillId }) => void (await backfills.cancel(backfillId)),
  backfillGaps: ({ backfills }, { upstream }) => backfills.gaps(upstream),
};

/** Reads an open warehouse on a connection of its own. */
async function reading<Result>(
  shard: Shard,
  work: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const connection = await shard.connect();
  try {
    return await work(connection);
  } finally {
    connection.closeSync();
  }
}

/**
 * As the operation `explain`, of a warehouse that no process has open; it is only read.
 * @throws TransientError where there is none yet, or where a process has it open after all
 */
export function explainClosed(assignment: Assignment, args: ExplainArgs, clock: Clock): Promise<Explained> {
  const { workgroup } = assignment;
  return readClosed(assignment, clock, (connection) =>
    explainDay(connection, args, { workgroup, nowMs: clock.now() }),
  );
}

/** As the operation `uploads`, of a warehouse that no process has open; else as `explainClosed`. */
export function uploadsClosed(assignment: Assignment, clock: Clock): Promise<UploadList> {
  return readClosed(assignment, clock, listUploads);
}

function readClosed<Result>(
  assignment: Assignment,
  clock: Clock,
  work: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const { workgroup, pipeline } = assignment;
  return readShard(
    {
      path: warehousePath(assignment),
      workgroupId: workgroup.id,
      memoryMegabytes: pipeline.warehouseMemoryMegabytes,
      threads: pipeline.threads,
      clock,
    },
    work,
  );
}

/** Opens a workgroup's warehouse and puts its reader where the checkpoint is. */
export async function openAssignment(assignment: Assignment, clock: Clock, log: Log): Promise<OpenShard> {
  const { workgroup, pipeline } = assignment;
  const shard = await openShard({
    path: warehousePath(assignment),
    workgroupId: workgroup.id,
    memoryMegabytes: pipeline.warehouseMemoryMegabytes,
    threads: pipeline.threads,
    folders: [lakeFolder(assignment)],
    clock,
    log,
  });
  const table = workgroup.upstream?.table;
  const interpret = createInterpreter(shard.names, { defaultTable: table === '-' ? undefined : table });
  const position = await storedPosition(shard);
  const audit = createAudit({ dataDir: assignment.dataDir, actor: localActor(), clock });
  const imports = createImportJob(shard, { workgroup, threads: pipeline.threads, audit, clock, log });
  const lakeDir = lakeFolder(assignment);
  const backfills = createBackfillJob(shard, { workgroup, lakeDir, audit, clock, log });
  return { shard, assignment, interpret, position, stuck: undefined, imports, backfills, clock, log };
}

/** Ends what runs on it and lets its file go. */
export async function closeAssignment({ shard, imports, backfills }: OpenShard): Promise<void> {
  await Promise.all([imports.stop(), backfills.stop()]);
  await shard.close();
}

function warehousePath({ dataDir, workgroup }: Assignment): string {
  return join(dataDir, 'warehouse', `${workgroup.id}.duckdb`);
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
 * Understands one answer of the upstream and lands what is new in it. Answers come in the order in which they were asked for;
 * the next one is decoded while this one is being committed, and refused by the landing if this one fails.
 */
async function land(open: OpenShard, { ask, answer }: Operations['land']['args']): Promise<LandReply> {
  let reply: LandReply | undefined;
  try {
    const landed = await open.shard.land(() => {
      const understood = understand(open, ask, answer);
      reply = understood.reply;
      return understood.batch;
    });
    if (landed?.kind === 'out-of-step' || landed?.kind === 'recreated') {
      throw new TransientError(
        'OutOfStep',
        'the warehouse stands elsewhere than the reader; reading again from its checkpoint',
      );
    }
    if (landed?.kind === 'landed') open.stuck = afterSuccess(open.stuck);
    return reply?.kind === 'delivered' && landed?.kind === 'landed'
      ? { ...reply, quarantined: landed.quarantined }
      : reply!;
  } catch (error) {
    open.stuck = afterFailure(open.stuck, ask, toPlainError(error).code);
    open.position = await storedPosition(open.shard);
    throw error;
  }
}

/** Moves the reader by one answer. @returns what there is to land, if anything, and what to say once it has landed */
function understand(
  open: OpenShard,
  ask: Ask,
  answer: RawAnswer,
): { reply: LandReply; batch: LandInput | undefined } {
  const { position } = open;
  const nothing = (reply: LandReply) => ({ reply, batch: undefined });
  if (!sameAsk(ask, position.ask)) return nothing({ kind: 'elsewhere', position });
  const outcome = open.interpret(answer);
  const step = advance(position, outcome);
  if (step.kind === 'fail') return nothing(step);
  open.position = step.position;
  if (step.kind !== 'deliver' || outcome.kind !== 'batch') return nothing(step as Exclude<Step, DeliverStep>);
  const { messages, upToDate, gap } = step;
  const next = step.position.ask;
  const reply = { kind: 'delivered', messages, quarantined: 0, position: step.position, upToDate } as const;
  if (next.kind !== 'offset') return nothing(reply);
  const isEmpty = messages === 0 && outcome.columns.rejected.length === 0;
  if (isEmpty && !gap && sameAsk(next, ask)) return nothing(reply);
  keepNew(outcome.columns, step.keep);
  if (isHopeless(open.stuck, ask)) setAside(outcome.columns, answer.bytes);
  const batch = {
    origin: ORIGIN,
    columns: outcome.columns,
    fromOffset: ask.kind === 'offset' ? ask.offset : undefined,
    nextOffset: next.offset,
    logEpoch: step.position.epoch,
    gap,
  };
  return { reply, batch };
}

/** Turns what cannot be landed into something that can: its bytes, with the reason. */
function setAside(columns: MessageColumns, bytes: Uint8Array): void {
  const offset =
    columns.count > 0 ? (BigInt(columns.offset[1]!) << 32n) | BigInt(columns.offset[0]!) : undefined;
  columns.count = 0;
  columns.rejected = [
    { offset, reason: 'cannot_land', detail: 'the warehouse refused it again and again', bytes },
  ];
}
