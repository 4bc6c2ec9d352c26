import { onTestFinished } from 'vitest';
import { openLossyProxy } from './open-lossy-proxy.ts';

export type { Fate } from './open-lossy-proxy.ts';

/** A lossy proxy that is closed when the test has finished. @returns its address */
export async function startLossyProxy(...args: Parameters<typeof openLossyProxy>): Promise<string> {
  const { endpoint, close } = await openLossyProxy(...args);
  onTestFinished(close);
  return endpoint;
}
