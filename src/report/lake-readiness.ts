import type { HealthAsker, HealthState } from '../http/health-routes.ts';
import { errorMessage } from '../lib/errors.ts';
import { SECOND_MS, type UtcMs } from '../lib/time.ts';
import type { LakeReader } from './lake-reader.ts';

const LISTED_MAX = 20;

/**
 * Checks that the lake of every workgroup can be read. A workgroup without a publication is ready: its report is
 * empty.
 * @param asker without the right to see names, workgroups are only counted
 */
export async function lakeReadiness(
  lake: Pick<LakeReader, 'current'>,
  workgroupIds: readonly string[],
  nowMs: UtcMs,
  { maySeeNames }: HealthAsker = { maySeeNames: false },
): Promise<HealthState> {
  const ages: number[] = [];
  const problems: string[] = [];
  for (const workgroupId of workgroupIds) {
    const generation = await lake.current(workgroupId).catch((error: unknown) => {
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
      problems.push(`the lake of workgroup ${workgroupId} cannot be read: ${errorMessage(cause)}`);
      return undefined;
    });
    if (generation) ages.push(Math.round((nowMs - generation.commit.createdAtMs) / SECOND_MS));
  }
  return {
    ok: problems.length === 0,
    detail: {
      workgroups: workgroupIds.length,
      published: ages.length,
      unreadable: problems.length,
      newestGenerationAgeSeconds: ages.length > 0 ? Math.min(...ages) : null,
      oldestGenerationAgeSeconds: ages.length > 0 ? Math.max(...ages) : null,
      ...(problems.length > 0 && maySeeNames && { problems: problems.slice(0, LISTED_MAX) }),
    },
  };
}
