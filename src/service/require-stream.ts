import type { Config } from '../config/config.ts';
import type { Workgroups } from '../config/workgroups.ts';
import { errorCode, errorMessage, TransientError } from '../lib/errors.ts';
import { SECOND_MS } from '../lib/time.ts';

const ANSWER_MS = 3 * SECOND_MS;
const LISTED_MAX = 3;

/**
 * Checks that the stream answers that a worker without its own stream reads. With several machines, a worker
 * that cannot read would take workgroups over from machines that can. On a single machine no other worker can
 * read them, so the worker starts and waits.
 * @param address where the stream process of this machine is
 * @throws TransientError `StreamUnreachable`
 */
export async function requireStream(
  { queue, storage }: Pick<Config, 'queue' | 'storage'>,
  workgroups: Pick<Workgroups, 'list'>,
  address: string,
): Promise<void> {
  if (queue.backend !== 'redis' || !storage.s3 || storage.shared) return;
  const ids = workgroups.list().flatMap(({ id, upstream }) => (upstream === undefined ? [id] : []));
  if (ids.length === 0) return;
  try {
    // Any answer, even an error, shows that the process runs.
    await (await fetch(`${address}/health`, { signal: AbortSignal.timeout(ANSWER_MS) })).body?.cancel();
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    const listed = ids.slice(0, LISTED_MAX).join(', ');
    const more = ids.length > LISTED_MAX ? ` and ${ids.length - LISTED_MAX} more` : '';
    throw new TransientError(
      'StreamUnreachable',
      `no stream answers at ${address} (${errorCode(cause) ?? errorMessage(cause)}), and a worker reads the workgroups without an upstream there (${listed}${more}); run "wattline up" on this machine instead of "wattline worker", or "wattline stream" beside it, or give each workgroup an upstream`,
      { cause: error },
    );
  }
}
