import type { HealthAsker, HealthState } from '../../http/health-routes.ts';
import { errorMessage } from '../../lib/errors.ts';
import { runAtATime } from '../../lib/run-at-a-time.ts';
import { SECOND_MS, type UtcMs } from '../../lib/time.ts';
import { withTimeout } from '../../lib/with-timeout.ts';
import type { LakeReader } from './lake-reader.ts';

const LISTED_MAX = 20;
/**
 * The result of a look at a lake is used for this time, multiplied by the number of workgroups. So there are
 * at most 200 looks a second in all.
 */
const LOOK_KEPT_MS_EACH = 5;
const LOOKS_AT_ONCE = 16;
/** If the looks are not finished after this time, a check answers with what is known. */
const ANSWER_MS = SECOND_MS;

/** The findings about the lake of a workgroup. */
interface Look {
  /** Monotonic, ms. */
  atMs: number;
  /** When its newest generation was published. Undefined if nothing is published. */
  publishedAtMs?: UtcMs;
  problem?: string;
}

/**
 * Checks that the lake of every workgroup can be read. A workgroup without a publication is ready: its report
 * is empty.
 * @param asker if the asker may not see names, the answer only counts the workgroups
 */
type LakeReadiness = (
  workgroupIds: readonly string[],
  nowMs: UtcMs,
  asker?: HealthAsker,
) => Promise<HealthState>;

/** The findings are remembered. In a busy process, a look at a thousand lakes takes some seconds. */
export function createLakeReadiness(lake: Pick<LakeReader, 'newestGeneration'>): LakeReadiness {
  const looks = new Map<string, Look>();
  let looking: Promise<void> | undefined;

  async function readState(workgroupId: string): Promise<void> {
    const atMs = performance.now();
    try {
      const generation = await lake.newestGeneration(workgroupId);
      looks.set(workgroupId, { atMs, ...(generation && { publishedAtMs: generation.commit.createdAtMs }) });
    } catch (error) {
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
      const problem = `the lake of workgroup ${workgroupId} cannot be read: ${errorMessage(cause)}`;
      looks.set(workgroupId, { atMs, problem });
    }
  }

  return async (workgroupIds, nowMs, { maySeeNames } = { maySeeNames: false }) => {
    const configured = new Set(workgroupIds);
    for (const workgroupId of looks.keys()) if (!configured.has(workgroupId)) looks.delete(workgroupId);
    const keptMs = workgroupIds.length * LOOK_KEPT_MS_EACH;
    const dueMs = performance.now() - keptMs;
    const due = workgroupIds.filter((id) => (looks.get(id)?.atMs ?? Number.NEGATIVE_INFINITY) <= dueMs);
    if (due.length > 0) {
      looking ??= runAtATime(due, LOOKS_AT_ONCE, readState).finally(() => {
        looking = undefined;
      });
      await withTimeout(looking, ANSWER_MS);
    }
    const known = workgroupIds.flatMap((id) => looks.get(id) ?? []);
    const problems = known.flatMap(({ problem }) => problem ?? []);
    const ages = known.flatMap(({ publishedAtMs }) =>
      publishedAtMs === undefined ? [] : Math.round((nowMs - publishedAtMs) / SECOND_MS),
    );
    const unchecked = workgroupIds.length - known.length;
    return {
      ok: problems.length === 0 && unchecked === 0,
      detail: {
        workgroups: workgroupIds.length,
        published: ages.length,
        unreadable: problems.length,
        ...(unchecked > 0 && { unchecked }),
        newestGenerationAgeSeconds: ages.length > 0 ? ages.reduce((a, b) => Math.min(a, b)) : null,
        oldestGenerationAgeSeconds: ages.length > 0 ? ages.reduce((a, b) => Math.max(a, b)) : null,
        ...(problems.length > 0 && maySeeNames && { problems: problems.slice(0, LISTED_MAX) }),
      },
    };
  };
}
