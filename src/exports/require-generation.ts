import { TransientError } from '../lib/errors.ts';
import type { Generation, LakeReader } from '../report/lake/lake-reader.ts';

/** The newest generation. @throws TransientError NothingPublished */
export async function requireGeneration(lake: LakeReader, workgroupId: string): Promise<Generation> {
  const generation = await lake.newestGeneration(workgroupId);
  if (generation) return generation;
  throw new TransientError(
    'NothingPublished',
    `workgroup ${workgroupId} has published nothing yet; start a worker with "wattline up"`,
  );
}
