import { join } from 'node:path';
import type { AlertRequest } from '../alerts/change-by-hand.ts';
import type { AlertList, AlertPage } from '../alerts/list-alerts.ts';
import { readWarehouseFacts, type WarehouseFacts } from '../alerts/read-warehouse-facts.ts';
import { createAudit } from '../audit/audit.ts';
import { localActor } from '../audit/local-actor.ts';
import type { BackfillJobState } from '../backfill/backfill-job.ts';
import type { ListedBackfill } from '../backfill/backfill-ledger.ts';
import type { BackfillPlan, BackfillRequest, UpstreamAddress } from '../backfill/backfill-request.ts';
import type { OpenGap } from '../backfill/plan-gaps.ts';
import { deleteMovedData } from '../backup/delete-moved-data.ts';
import type { Ask } from '../client/position.ts';
import type { RawAnswer } from '../client/rest-source.ts';
import { limits } from '../contract/wire-limits.ts';
import type { CorrectionQuery, CorrectionRequest } from '../correction/correction-request.ts';
import { type ListedCorrection, listCorrections } from '../correction/list-corrections.ts';
import { type CorrectOutcome, storeAuditedCorrection } from '../correction/store-correction.ts';
import { explainDay } from '../explain/explain-day.ts';
import type { ExplainArgs, Explained } from '../explain/explained-schema.ts';
import type { ImportState } from '../import/import-job.ts';
import type { ImportRequest } from '../import/import-request.ts';
import { type ImportSummary, summarizeImports } from '../import/import-summary.ts';
import { type ListedImport, listImports } from '../import/list-imports.ts';
import { type LandedImport, newestImports } from '../import/newest-imports.ts';
import type { Problem } from '../lib/errors.ts';
import { raceAbort } from '../lib/race-abort.ts';
import { SECOND_MS } from '../lib/time.ts';
import { findProblems } from '../problems/find-problems.ts';
import { type MaintainResult, maintain } from '../publish/maintain-lake.ts';
import type { IdleNote } from '../replica/idle-note.ts';
import { type RollUpResult, rollUp } from '../rollup/roll-up.ts';
import { requestRetry } from '../rollup/set-aside.ts';
import { listUploads, type UploadList } from '../upload/list-uploads.ts';
import type { StoreOutcome } from '../upload/store-upload.ts';
import { type TakeRequest, takeUpload } from '../upload/take-upload.ts';
import { listQuarantine, type Quarantine, type QuarantineQuery } from '../warehouse/list-quarantine.ts';
import type { ShardStatus } from '../warehouse/shard-status.ts';
import { lakeFolder } from './assignment.ts';
import { commitBeforeAnswer } from './commit-before-answer.ts';
import { interruptAfter } from './interrupt-after.ts';
import { type LandReply, land } from './live-reader.ts';
import type { OpenShard } from './open-shard.ts';
import { type PublishedNow, publishNow } from './publish-now.ts';
import { takeSnapshotIfDue, takeSnapshotNow } from './snapshot-stage.ts';
import type { BucketState } from './workgroup-bucket.ts';

/** Operations of the main thread of the worker that owns the workgroup. */
interface OwnerOperations {
  /** Open alerts. */
  alertList: { args: AlertPage; result: AlertList };
  /** Snoozes a condition, or notes that somebody has seen its alerts. */
  alertChange: { args: AlertRequest; result: AlertList };
}

/** The operations on an open shard. A new operation needs one line here and one in `operations`. */
export interface Operations extends OwnerOperations {
  /** Where to continue reading, and how many messages at a time. */
  position: { args: undefined; result: { ask: Ask; messagesMax: number } };
  land: { args: { ask: Ask; answer: RawAnswer }; result: LandReply };
  rollUp: { args: undefined; result: RollUpResult };
  publish: { args: undefined; result: PublishedNow };
  maintain: { args: { dryRun: boolean }; result: MaintainResult };
  /** Publishes new data, and adds a generation with a snapshot of the warehouse. */
  snapshot: { args: undefined; result: { sequence: number } };
  /**
   * Commits changed data to the bucket, see `WorkgroupBucket.commit`. Undefined if no bucket is configured.
   */
  commit: { args: { isComplete: boolean }; result: BucketState | undefined };
  /** Looks for a commit of another owner, see `WorkgroupBucket.look`. */
  lookAtBucket: { args: { sequence: number }; result: undefined };
  /**
   * Notes in the bucket that the workgroup hibernates, see `WorkgroupBucket.noteHibernation`. Undefined if no
   * bucket is configured.
   */
  noteHibernation: { args: IdleNote; result: BucketState | undefined };
  /** The state in the bucket without a commit. Undefined if no bucket is configured. */
  bucketState: { args: undefined; result: BucketState | undefined };
  status: { args: undefined; result: ShardStatus };
  /** The facts from which alerts are computed. `known`: the days that the caller already has. */
  alertFacts: { args: { known?: string | undefined }; result: WarehouseFacts };
  /** Contradictions between data and configuration. */
  problems: { args: undefined; result: Problem[] };
  /** Lets the next roll-up compute failed series again: all, or the series of a device. */
  retry: { args: { device?: string | undefined }; result: { series: number } };
  /** Explains the energy of a day of a device. */
  explain: { args: ExplainArgs; result: Explained };
  /** Starts the import of a file. `importState` returns its progress and its result. */
  importStart: { args: ImportRequest; result: undefined };
  importState: { args: undefined; result: ImportState };
  importStop: { args: undefined; result: undefined };
  /** The effect of imports: the fields that are read as energy, and the energy of their devices by month. */
  importSummary: { args: { importIds: number[]; table: string }; result: ImportSummary };
  /** The same for the newest imports. */
  importsNewest: { args: undefined; result: LandedImport[] };
  /** Imports, newest first, with ids below `beforeId`. */
  importList: { args: { beforeId?: number | undefined; limit: number }; result: ListedImport[] };
  /** Messages and readings that were received and not used, by reason, with samples. */
  quarantineList: { args: QuarantineQuery; result: Quarantine };
  /** Stores uploaded meter data or budgets. */
  upload: { args: TakeRequest; result: StoreOutcome };
  /** The uploads that count. */
  uploads: { args: undefined; result: UploadList };
  /** Stores a correction and computes its effect. With `dryRun` it stores nothing. */
  correct: {
    args: { request: CorrectionRequest; author: string; dryRun: boolean; requestId?: string | undefined };
    result: CorrectOutcome;
  };
  /** All corrections, newest first. */
  corrections: { args: CorrectionQuery; result: ListedCorrection[] };
  /** Starts or continues a backfill. `backfillState` returns its progress and its result. */
  backfillStart: { args: FromUpstream & { request: BackfillRequest }; result: undefined };
  backfillState: { args: undefined; result: BackfillJobState };
  backfillStop: { args: undefined; result: undefined };
  backfillPlan: { args: FromUpstream & { request: BackfillRequest }; result: BackfillPlan };
  backfillList: { args: undefined; result: ListedBackfill[] };
  backfillCancel: { args: { backfillId: number }; result: undefined };
  /** Gaps of the stream, and what the upstream still has of them. */
  backfillGaps: { args: FromUpstream; result: OpenGap[] };
}
export type OperationName = keyof Operations;
/** The operations of the thread of the pipeline. */
type ShardOperationName = Exclude<OperationName, keyof OwnerOperations>;

/** The stream to read. Callers from outside do not send it. */
interface FromUpstream {
  upstream?: UpstreamAddress;
}

export type Handler<Name extends OperationName> = (
  open: OpenShard,
  args: Operations[Name]['args'],
  signal?: AbortSignal,
) => Promise<Operations[Name]['result']>;

const SAFE_AGAIN = 'send the same request again, which is safe';
/** The longest time for an explanation. A day of ten million readings takes a tenth of it. */
const EXPLAIN_MS_MAX = 20 * SECOND_MS;

export const operations: { readonly [Name in ShardOperationName]: Handler<Name> } = {
  position: async ({ position, stuck }) => ({
    ask: position.ask,
    messagesMax: stuck?.messagesMax ?? limits.messagesPerReadMax,
  }),
  land,
  rollUp: ({ shard, assignment, inTurn, clock, logger }) =>
    inTurn(() =>
      rollUp(shard, {
        workgroup: assignment.workgroup,
        clock,
        closeAfterMs: assignment.pipeline.closeAfter,
        logger,
      }),
    ),
  publish: (open, _args, signal) => open.inLake(() => publishNow(open, signal)),
  maintain: (open, { dryRun }, signal) =>
    open.inLake(async () => {
      const { shard, assignment, clock, logger } = open;
      const result = await maintain(shard, {
        lakeDir: lakeFolder(assignment),
        currentEveryMs: assignment.pipeline.currentEvery,
        keepGenerationsMs: assignment.pipeline.keepGenerations,
        keepMessagesMs: assignment.pipeline.keepMessages,
        declared: assignment.workgroup,
        dryRun,
        clock,
        logger,
        signal,
      });
      if (!dryRun) {
        // A generation gets only one snapshot. So a wanted snapshot needs a new generation.
        if (open.snapshots.isWanted) await publishNow(open, signal);
        await takeSnapshotIfDue(open);
        await shard.checkpointIfDue();
        await shard.renewIfDue();
        await shard.releaseMemory();
        const [warehousePath, root] = [shard.path, join(lakeFolder(assignment), shard.workgroupId)];
        await deleteMovedData({ workgroupId: shard.workgroupId, warehousePath, root, clock, logger });
      }
      return result;
    }),
  snapshot: (open, _args, signal) =>
    open.inLake(async () => {
      await publishNow(open, signal);
      const { sequence } = await takeSnapshotNow(open);
      return { sequence };
    }),
  commit: async ({ bucket }, how, signal) => bucket && raceAbort(bucket.commit(how), signal),
  lookAtBucket: async ({ bucket }, { sequence }) => {
    await bucket?.look(sequence);
    return undefined;
  },
  noteHibernation: async ({ bucket }, idle, signal) =>
    bucket && raceAbort(bucket.noteHibernation(idle), signal),
  bucketState: async ({ bucket }) => bucket?.state(),
  status: ({ shard }) => shard.status(),
  alertFacts: ({ shard, assignment, clock }, { known }) =>
    shard.read((connection) =>
      readWarehouseFacts(connection, {
        workgroup: assignment.workgroup,
        nowMs: clock.now(),
        closeAfterMs: assignment.pipeline.closeAfter,
        known,
      }),
    ),
  problems: ({ shard, assignment }) =>
    shard.withAllThreads(() => shard.read((connection) => findProblems(connection, assignment.workgroup))),
  retry: ({ shard }, { device }) => shard.transaction((connection) => requestRetry(connection, device)),
  explain: ({ shard, assignment: { workgroup, pipeline }, clock }, args) =>
    shard.withAllThreads(() =>
      shard.read((connection) =>
        interruptAfter(connection, EXPLAIN_MS_MAX, () =>
          explainDay(connection, args, {
            workgroup,
            nowMs: clock.now(),
            closeAfterMs: pipeline.closeAfter,
          }),
        ),
      ),
    ),
  importStart: async ({ imports, snapshots }, request) => {
    snapshots.isWanted = true;
    imports.start(request);
  },
  async importState(open) {
    const { imports, snapshots } = open;
    const state = await imports.state();
    if (state.kind !== 'ended' || snapshots.committedImport === state.outcome) return state;
    await commitBeforeAnswer(open, SAFE_AGAIN);
    snapshots.committedImport = state.outcome;
    return state;
  },
  importStop: async ({ imports }) => void (await imports.stop()),
  importsNewest: ({ shard, assignment, clock }) =>
    shard.read((connection) => newestImports(connection, assignment.workgroup, clock.now())),
  importSummary: ({ shard, assignment }, args) =>
    shard.withAllThreads(() =>
      shard.read((connection) => summarizeImports(connection, args, assignment.workgroup)),
    ),
  importList: ({ shard }, page) => shard.read((connection) => listImports(connection, page)),
  quarantineList: ({ shard }, asked) => shard.read((connection) => listQuarantine(connection, asked)),
  async upload(open, request) {
    const { shard, assignment, snapshots, clock, logger } = open;
    const audit = createAudit({ dataDir: assignment.dataDir, actor: localActor(), clock });
    const outcome = await takeUpload(shard, request, { audit, clock, logger });
    if (outcome.kind === 'refused') return outcome;
    snapshots.isWanted = true;
    await commitBeforeAnswer(open, SAFE_AGAIN);
    return outcome;
  },
  uploads: ({ shard }) => shard.read(listUploads),
  async correct(open, { request, author, dryRun, requestId }) {
    const { shard, assignment, inTurn, snapshots, clock, logger } = open;
    const outcome = await inTurn(() =>
      storeAuditedCorrection(shard, request, {
        author,
        dryRun,
        nowMs: clock.now(),
        closeAfterMs: assignment.pipeline.closeAfter,
        audit: createAudit({ dataDir: assignment.dataDir, actor: localActor(), clock }),
        logger: requestId === undefined ? logger : logger.child({ requestId }),
      }),
    );
    if (dryRun) return outcome;
    snapshots.isWanted = true;
    await commitBeforeAnswer(open, sendAgain(request));
    return outcome;
  },
  corrections: ({ shard, assignment }, asked) =>
    shard.read((connection) => listCorrections(connection, asked, assignment.workgroup.timezone)),
  backfillStart: async ({ backfills }, { request, upstream }) => void backfills.start(request, upstream),
  backfillState: ({ backfills }) => backfills.state(),
  backfillStop: async ({ backfills }) => void (await backfills.stop()),
  backfillPlan: ({ backfills }, { request, upstream }) => backfills.plan(request, upstream),
  backfillList: ({ backfills }) => backfills.list(),
  backfillCancel: async ({ backfills }, { backfillId }) => void (await backfills.cancel(backfillId)),
  backfillGaps: ({ backfills }, { upstream }) => backfills.gaps(upstream),
};

/**
 * Tells the caller to send a correction again, because it is lost if this machine is lost before the next
 * commit. The caller must use the same key, because without it the correction could be stored twice.
 */
function sendAgain({ key }: CorrectionRequest): string {
  return key === undefined
    ? 'look at the list of corrections later, and send it again if it is missing'
    : `send the same request again with the key "${key}"; it is stored once`;
}

export function isShardOperation(name: OperationName): name is ShardOperationName {
  return Object.hasOwn(operations, name);
}
