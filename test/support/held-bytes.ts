import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/**
 * The memory that this process holds after garbage collections. There are several of them, because a buffer
 * is freed some turns of the event loop after the last object that refers to it.
 */
export async function heldBytes(): Promise<number> {
  for (let pass = 0; pass < 3; pass++) {
    collectGarbage();
    await sleep(10);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
