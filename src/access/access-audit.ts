import type { Audit, AuditEntry } from '../audit/audit.ts';
import { errorMessage } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, MINUTE_MS, SECOND_MS, type UtcMs } from '../lib/time.ts';
import type { StartTimer } from '../lib/timer.ts';
import type { Grant } from './grant.ts';
import { isOwnToken } from './own-token.ts';
import { openUsedTokens } from './token-files.ts';

/** The reason of a refusal, for readers of the audit log. The caller gets less detail. */
export type RefusalReason = 'invalid' | 'expired' | 'revoked' | 'insufficient_scope' | 'other_workgroup';

/**
 * Records in the audit log how the tokens of a workgroup are used. It never fails a request; an entry that
 * cannot be stored is logged.
 */
export interface AccessAudit {
  /** Records the first use of a token in a workgroup. */
  noteUsed(workgroupId: string, grant: Grant): void;
  /**
   * Records that a token was refused. To keep the log small, each workgroup and reason gets at most one entry
   * a minute, with the number of refusals.
   */
  noteRefused(workgroupId: string, reason: RefusalReason, grant: Pick<Grant, 'tokenId'> | undefined): void;
  /** Records the refusals that were counted and not recorded yet. */
  close(): void;
}

interface AccessAuditOptions {
  dataDir: string;
  audit: Audit;
  clock: Clock;
  startTimer: StartTimer;
  logger: Logger;
}

/** Further refusals are dropped if the stream service does not run. */
const WAITING_MAX = 10_000;
/**
 * Refusals are recorded after the answer. Otherwise the time of an answer would show if a workgroup exists.
 */
const NOTED_AFTER_MS = SECOND_MS;
const UNKNOWN = 'unknown';

export function createAccessAudit(options: AccessAuditOptions): AccessAudit {
  const { audit, clock, startTimer, logger } = options;
  const usedTokens = openUsedTokens(options.dataDir);
  const refusals = new Map<string, Refusals>();

  const record = (workgroupId: string, entry: AuditEntry) => {
    try {
      audit.record(workgroupId, entry);
    } catch (error) {
      logger.warn(
        { workgroup: workgroupId, action: entry.action, error: errorMessage(error) },
        'audit.failed',
      );
    }
  };

  const noteRefusals = (key: string, noted: Refusals) => {
    const { workgroupId, reason, count, tokenId, sinceMs } = noted;
    if (count === 0) {
      refusals.delete(key);
      return;
    }
    noted.count = 0;
    noted.sinceMs = undefined;
    noted.stop = startTimer(MINUTE_MS, () => noteRefusals(key, noted));
    if (audit.waiting(workgroupId) >= WAITING_MAX) return;
    record(workgroupId, {
      actor: tokenId ?? UNKNOWN,
      action: 'token.refused',
      target: tokenId,
      data: { reason, count, since: sinceMs },
    });
  };

  return {
    noteUsed(workgroupId, { tokenId, subject }) {
      if (isOwnToken(tokenId) || usedTokens.has(tokenId, workgroupId)) return;
      try {
        if (!usedTokens.add(tokenId, workgroupId, clock.now())) return;
        record(workgroupId, { actor: subject, action: 'token.first_used', target: tokenId });
      } catch (error) {
        logger.warn({ workgroup: workgroupId, error: errorMessage(error) }, 'audit.failed');
      }
    },
    noteRefused(workgroupId, reason, grant) {
      const key = `${workgroupId} ${reason}`;
      const known = refusals.get(key);
      const noted: Refusals = known ?? { workgroupId, reason, count: 0, stop: () => undefined };
      noted.count++;
      noted.tokenId = grant?.tokenId;
      noted.sinceMs ??= clock.now();
      if (known) return;
      refusals.set(key, noted);
      noted.stop = startTimer(NOTED_AFTER_MS, () => noteRefusals(key, noted));
    },
    close() {
      for (const [key, noted] of refusals) {
        noted.stop();
        noteRefusals(key, noted);
        // Noting them has started the next minute.
        noted.stop();
      }
      refusals.clear();
    },
  };
}

/** Refusals of one reason that were counted and not recorded yet. */
interface Refusals {
  workgroupId: string;
  reason: RefusalReason;
  count: number;
  /** The token of the last refusal, if its signature was valid. */
  tokenId?: string | undefined;
  sinceMs?: UtcMs | undefined;
  stop: () => void;
}
