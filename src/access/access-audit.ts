import type { Audit, AuditEntry } from '../audit/audit.ts';
import { errorMessage } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, MINUTE_MS, SECOND_MS, type UtcMs } from '../lib/time.ts';
import type { Grant } from './grant.ts';
import { isOwnToken } from './own-token.ts';
import { openUsedTokens } from './token-files.ts';

/** Why a token was refused, for who reads the audit log; the caller is told less. */
export type RefusalReason = 'invalid' | 'expired' | 'revoked' | 'insufficient_scope' | 'other_workgroup';

/** Notes how the tokens of a workgroup are used. It never fails a request: what cannot be noted is logged. */
export interface AccessAudit {
  /** Notes the first time that a token is let in to a workgroup. */
  used(workgroupId: string, grant: Grant): void;
  /**
   * Notes that a token was refused: one entry a minute at most for each workgroup and reason, with how many there were, so that
   * nobody can fill the log by trying.
   */
  refused(workgroupId: string, reason: RefusalReason, grant: Pick<Grant, 'tokenId'> | undefined): void;
  /** Notes what was counted and is not noted yet. */
  close(): void;
}

export interface AccessAuditOptions {
  dataDir: string;
  audit: Audit;
  clock: Clock;
  /** Calls back once after a while; the result stops it. */
  startTimer(delayMs: number, ring: () => void): () => void;
  logger: Logger;
}

/** Where the stream service does not run, refusals are not kept beyond this. */
const WAITING_MAX = 10_000;
/**
 * A refusal is not written while its caller waits for the answer: without a token anybody could tell by the time it takes
 * whether a workgroup exists.
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
        { workgroup: workgroupId, action: entry.action, problem: errorMessage(error) },
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
    used(workgroupId, { tokenId, subject }) {
      if (isOwnToken(tokenId) || usedTokens.has(tokenId, workgroupId)) return;
      try {
        if (!usedTokens.add(tokenId, workgroupId, clock.now())) return;
        record(workgroupId, { actor: subject, action: 'token.first_used', target: tokenId });
      } catch (error) {
        logger.warn({ workgroup: workgroupId, problem: errorMessage(error) }, 'audit.failed');
      }
    },
    refused(workgroupId, reason, grant) {
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
        noted.stop();
      }
      refusals.clear();
    },
  };
}

/** Refusals of one reason that are counted and not noted yet. */
interface Refusals {
  workgroupId: string;
  reason: RefusalReason;
  count: number;
  /** Of the last one, where its signature was good. */
  tokenId?: string | undefined;
  sinceMs?: UtcMs | undefined;
  stop: () => void;
}
