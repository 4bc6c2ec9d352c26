import type { HealthState } from '../http/health-routes.ts';
import { SECOND_MS, type UtcMs } from '../lib/time.ts';
import type { LakeReader } from './lake-reader.ts';

/**
 * Checks that the lake of every workgroup can be read. A workgroup without a publication is ready: its report is
 * empty. The answer is public, so it counts workgroups and does not name them.
 */
export async function lakeReadiness(
  lake: Pick<LakeReader, 'current'>,
  workgroupIds: readonly string[],
  nowMs: UtcMs,
): Promise<HealthState> {
  const ages: number[] = [];
  let unreadable = 0;
  for (const workgroupId of workgroupIds) {
    const generation = await lake.current(workgroupId).catch(() => {
      unreadable += 1;
      return undefined;
    });
    if (generation) ages.push(Math.round((nowMs - generation.commit.createdAtMs) / SECOND_MS));
  }
  return {
    ok: unreadable === 0,
    detail: {
      workgroups: workgroupIds.length,
      published: ages.length,
      unreadable,
      newestGenerationAgeSeconds: ages.length > 0 ? Math.min(...ages) : null,
      oldestGenerationAgeSeconds: ages.length > 0 ? Math.max(...ages) : null,
    },
  };
}
