import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConfigInput } from '../src/config/config.ts';
import { createUpProcess, type ServiceProcess } from '../test/support/up-process.ts';

/** Runs `wattline up` while `use` lasts, in a folder that is removed afterwards. */
export async function withService<Result>(
  input: ConfigInput,
  use: (service: ServiceProcess) => Promise<Result>,
): Promise<Result> {
  const cwd = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
  const service = await createUpProcess(cwd, input);
  try {
    await service.start();
    return await use(service);
  } finally {
    await service.stop();
    process.stderr.write(service.errorText());
    rmSync(cwd, { recursive: true, force: true });
  }
}
