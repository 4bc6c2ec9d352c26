import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Service } from '../service/service.ts';

/**
 * Runs `work` in a temporary folder that is removed afterwards. It is also removed if Ctrl-C or a time limit
 * ends the process, but not if SIGKILL does.
 */
export async function inTempFolder<Result>(
  name: string,
  { temporary }: Pick<Service, 'temporary'>,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), `wattline-${name}-`));
  temporary.add(folder);
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
    temporary.delete(folder);
  }
}
