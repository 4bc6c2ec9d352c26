import type { Offset } from '../../../contract/offset.ts';
import type { Logger } from '../../../lib/logger.ts';
import { type Fields, type KnownTail, offsetOfEntryId, readLogHead } from './redis-replies.ts';

export interface TailListeners {
  /** New messages are stored, up to `known.lastOffset`. */
  onMoved(): void;
  /** Redis has another log than before. */
  onRecreated(): void;
  /** There may be new messages. The listener must call `look`. */
  onDoubt(): void;
}

/** The news of an append: sender, epoch, end and count before it, end after it. */
const NEWS = /^(\S+) (\S+) (-?\d+-\d+) (\d+) (\d+-\d+) (\d+)$/;

/**
 * What one process knows of the end of a log in Redis. It learns from answers of Redis, and from the news of
 * other processes, which can be lost. News may arrive before an older answer.
 */
export function createRedisTail(options: { workgroupId: string; sender: string; logger: Logger }) {
  const { workgroupId, sender, logger } = options;
  let listeners: TailListeners | undefined;
  let known: KnownTail = {
    epoch: '',
    generation: 0,
    lastOffset: undefined,
    nextOrdinal: 0,
    trimmedThrough: undefined,
  };
  const doubt = () => listeners?.onDoubt();
  const learn = (head: KnownTail) => {
    const isOther = head.epoch !== known.epoch;
    const hasMoved = isAfter(head.lastOffset, known.lastOffset);
    const previousEpoch = known.epoch;
    if (isOther || hasMoved) known = head;
    else if (isAfter(head.trimmedThrough, known.trimmedThrough))
      known = { ...known, trimmedThrough: head.trimmedThrough };
    if (isOther && previousEpoch !== '') {
      logger.warn({ workgroup: workgroupId, epoch: head.epoch, previousEpoch }, 'stream.log-recreated');
      listeners?.onRecreated();
    } else if (hasMoved) listeners?.onMoved();
  };
  return {
    get known() {
      return known;
    },
    listen(given: TailListeners) {
      listeners = given;
    },
    doubt,
    learn,
    /** True if the head of an answer belongs to this log and is not older than the request. */
    continues(fields: Fields | null, asked: KnownTail): boolean {
      const head = fields === null ? undefined : readLogHead(fields);
      if (head?.epoch !== known.epoch || isAfter(asked.lastOffset, head.lastOffset)) return false;
      learn(head);
      return true;
    },
    takeNews(news: string) {
      const match = NEWS.exec(news);
      if (match === null) return doubt();
      const [, from, epoch, beforeId, beforeOrdinal, lastId, ordinal] = match;
      if (from === sender) return;
      const lastOffset = offsetOfEntryId(lastId!);
      if (epoch === known.epoch && !isAfter(lastOffset, known.lastOffset)) return;
      const continues =
        epoch === known.epoch &&
        offsetOfEntryId(beforeId!) === known.lastOffset &&
        Number(beforeOrdinal) === known.nextOrdinal;
      if (!continues) return doubt();
      known = { ...known, lastOffset, nextOrdinal: Number(ordinal) };
      listeners?.onMoved();
    },
  };
}

function isAfter(a: Offset | undefined, b: Offset | undefined): boolean {
  return a !== undefined && (b === undefined || a > b);
}
