import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/**
 * What this process holds once nothing waits to be collected: buffers go some turns after what pointed to
 * them.
 */
export async function heldBytes(): Promise<number> {
  for (let pass = 0; pass < 3; pass++) {
    collectGarbage();
    await sleep(10);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
