import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { siblingModule } from '../lib/sibling-module.ts';
import type { SheetRequest } from './write-xlsx.ts';

/**
 * Makes a sheet in its own thread and waits for its end. A thread must not be terminated while its DuckDB
 * works.
 */
export async function runXlsxThread(request: SheetRequest): Promise<void> {
  const worker = new Worker(siblingModule('xlsx-thread', import.meta.url), { workerData: request });
  const whenExited = once(worker, 'exit');
  const [failure] = (await once(worker, 'message')) as [string | undefined];
  await whenExited;
  if (failure !== undefined) throw new Error(failure);
}
