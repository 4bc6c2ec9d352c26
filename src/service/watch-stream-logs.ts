import type { HealthCheck } from '../http/health-routes.ts';
import { TerminalError } from '../lib/errors.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { APPEND_BYTES_MIN, diskFullWords, readFreeBytes } from '../stream/log/log-disk.ts';
import type { RetentionFrom } from '../stream/log/retention-floor.ts';
import type { StreamLog } from '../stream/log/stream-log.ts';

const LISTED_MAX = 20;

/**
 * Remembers which logs cannot be opened, and looks at the disk, so that a process that cannot store messages
 * is not ready.
 * @param folder the folder of all logs
 */
export function watchStreamLogs(
  folder: string,
  openLog: (workgroupId: string, retentionFrom?: RetentionFrom) => StreamLog,
): { openLog: (workgroupId: string, retentionFrom?: RetentionFrom) => StreamLog; readiness: HealthCheck } {
  const failures = new Map<string, string>();
  return {
    openLog(workgroupId, retentionFrom) {
      try {
        const log = openLog(workgroupId, retentionFrom);
        failures.delete(workgroupId);
        return log;
      } catch (error) {
        // Other errors pass, and the next request tries again.
        if (error instanceof TerminalError) failures.set(workgroupId, error.message);
        throw error;
      }
    },
    async readiness({ maySeeNames }) {
      const freeBytes = await readFreeBytes(folder);
      const isFull = freeBytes < APPEND_BYTES_MIN;
      const problems = [
        ...(isFull ? [diskFullWords(folder, freeBytes)] : []),
        ...[...failures].map(([workgroupId, message]) => `workgroup ${workgroupId}: ${message}`),
      ];
      return {
        ok: problems.length === 0,
        detail: {
          freeMebibytes: Math.floor(freeBytes / MEBIBYTE),
          failedLogs: failures.size,
          ...(problems.length > 0 &&
            (maySeeNames
              ? { problems: problems.slice(0, LISTED_MAX) }
              : {
                  note: 'to see the problems, ask this process directly without a proxy, or run "wattline status"',
                })),
        },
      };
    },
  };
}
