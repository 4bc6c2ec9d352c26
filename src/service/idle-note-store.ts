import { errorMessage } from '../lib/errors.ts';
import { tryParseJson } from '../lib/json-text.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, elapsedOf, HOUR_MS, type UtcMs } from '../lib/time.ts';
import type { Assignment } from '../pipeline/assignment.ts';
import {
  assessWarehouse,
  idleNoteOf,
  removeIdleMarker,
  type StreamEnd,
  stateByNote,
  writeIdleMarker,
} from '../pipeline/idle-marker.ts';
import type { RedisConnection } from '../redis/redis-connection.ts';
import { redisScript } from '../redis/redis-script.ts';
import { type IdleNote, idleNoteSchema } from '../replica/idle-note.ts';
import { readReplicaHead } from '../replica/replica-commit.ts';
import type { ObjectStore } from '../storage/object-store.ts';

type IdleState = ReturnType<typeof assessWarehouse>;

/** Notes that workgroups hibernate. A workgroup with a note is opened only if it is needed. */
export interface IdleNotes {
  /**
   * The state of a closed workgroup, see `assessWarehouse`.
   * @throws if the place of the notes cannot be read
   */
  assess(assignment: Assignment, end: (StreamEnd & { isEmpty: boolean }) | undefined): Promise<IdleState>;
  /** To be called before the warehouse is opened. @throws TransientError if the note may still be there */
  remove(assignment: Assignment): Promise<void>;
  /**
   * To be called after the warehouse was closed. `end` is the end of its stream, which it has landed,
   * `computedAtMs` as in `idleNoteOf`.
   */
  write(assignment: Assignment, end: StreamEnd, computedAtMs: UtcMs): Promise<void>;
}

/** Notes in files next to the warehouses, for processes that share a data folder. */
export function createLocalIdleNotes({
  clock,
  logger,
}: Pick<SharedIdleNotesOptions, 'clock' | 'logger'>): IdleNotes {
  return {
    assess: async (assignment, end) => assessWarehouse(assignment, end, clock.now()),
    remove: async (assignment) => removeIdleMarker(assignment),
    async write(assignment, end, computedAtMs) {
      try {
        writeIdleMarker(assignment, end, computedAtMs);
      } catch (error) {
        notWritten(logger, assignment, error);
      }
    },
  };
}

interface SharedIdleNotesOptions {
  /** Undefined if only this process works with the bucket. */
  redis: Pick<RedisConnection, 'run' | 'fields'> | undefined;
  storeOf(workgroupId: string): ObjectStore;
  clock: Clock;
  logger: Logger;
}

const KEY = 'wattline:idle';
const SET = redisScript(`return redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])`);
const SET_IF_ABSENT = redisScript(`return redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])`);
const REMOVE = redisScript(`return redis.call('HDEL', KEYS[1], ARGV[1])`);
/** A workgroup without commits is looked for again after this time, because each look is a request. */
const ABSENT_MS = HOUR_MS;

/**
 * Notes for the machines of a bucket. Redis has a copy, so that a look costs no request to the bucket.
 * Without a copy the newest commit decides: its owner has noted in it that the workgroup has nothing to do.
 */
export function createSharedIdleNotes(options: SharedIdleNotesOptions): IdleNotes {
  const { redis, storeOf, clock, logger } = options;
  /** The copies, if there is no Redis. */
  const own = new Map<string, IdleNote>();
  /** When the bucket had no commit of these workgroups. */
  const absentAtMs = new Map<string, number>();

  async function find(workgroupId: string): Promise<IdleNote | undefined> {
    if (!redis) return own.get(workgroupId);
    const [text] = await redis.fields(KEY, [workgroupId]);
    return text == null ? undefined : parse(text);
  }

  async function keep(
    workgroupId: string,
    note: IdleNote,
    { isNewest }: { isNewest: boolean },
  ): Promise<void> {
    if (redis) await redis.run(isNewest ? SET : SET_IF_ABSENT, [KEY], [workgroupId, JSON.stringify(note)]);
    else own.set(workgroupId, note);
  }

  /** Looks at the newest commit. */
  async function ask(workgroupId: string): Promise<IdleNote | 'busy' | 'absent'> {
    const askedAtMs = absentAtMs.get(workgroupId);
    if (askedAtMs !== undefined && elapsedOf(clock) - askedAtMs < ABSENT_MS) return 'absent';
    const head = await readReplicaHead(storeOf(workgroupId));
    if (!head) {
      absentAtMs.set(workgroupId, elapsedOf(clock));
      return 'absent';
    }
    absentAtMs.delete(workgroupId);
    if (!head.idle) return 'busy';
    await keep(workgroupId, head.idle, { isNewest: false });
    return head.idle;
  }

  return {
    async assess(assignment, end) {
      const { id } = assignment.workgroup;
      const note = (await find(id)) ?? (await ask(id));
      // A machine that had the workgroup before there was a bucket stores its data now.
      if (note === 'absent')
        return assessWarehouse(assignment, end, clock.now()) === 'new' ? 'new' : 'behind';
      if (note === 'busy') return 'behind';
      // A log that has begun again without messages has nothing to read.
      const isUntouched = end === undefined || (end.isEmpty && end.epoch !== note.logEpoch);
      const reached = isUntouched ? { epoch: note.logEpoch, next: BigInt(note.nextOffset) } : end;
      return stateByNote(note, assignment, reached, clock.now());
    },
    async remove({ workgroup: { id } }) {
      own.delete(id);
      absentAtMs.delete(id);
      await redis?.run(REMOVE, [KEY], [id]);
    },
    async write(assignment, end, computedAtMs) {
      const { id } = assignment.workgroup;
      try {
        await keep(id, idleNoteOf(assignment, end, computedAtMs), { isNewest: true });
      } catch (error) {
        notWritten(logger, assignment, error);
      }
    },
  };
}

/** Without the note, the workgroup is opened one time without need. */
function notWritten(logger: Logger, { workgroup }: Assignment, error: unknown): void {
  logger.warn({ workgroup: workgroup.id, error: errorMessage(error) }, 'idle-note.not-written');
}

function parse(text: string): IdleNote | undefined {
  return idleNoteSchema.safeParse(tryParseJson(text)).data;
}
