import type { UpstreamAddress } from '../backfill/backfill-request.ts';
import { tablePath } from '../contract/table-path.ts';
import { runAtATime } from '../lib/run-at-a-time.ts';
import { SECOND_MS } from '../lib/time.ts';
import type { WorkgroupStatus } from '../pipeline/workgroup-status.ts';

/** Somebody waits for the status. A stream that is slower counts as one that cannot be asked. */
const WITHIN_MS = 2 * SECOND_MS;
/** So asking takes at most 26 s, even if every stream is slow. */
const ASKED_MAX = 200;
const ASKED_AT_ONCE = 16;

/** The address of the stream of a workgroup; undefined if it cannot be asked. */
export type FindStream = (workgroupId: string) => Promise<UpstreamAddress | undefined>;

/**
 * Counts the messages that have not landed, by asking the streams. For workgroups whose worker does not
 * report it now.
 * @returns the count by workgroup, without workgroups whose stream cannot be asked, and without those after
 *   the first 200
 */
export async function countBacklogs(
  statuses: ReadonlyArray<Pick<WorkgroupStatus, 'workgroupId' | 'poll'>>,
  findStream: FindStream,
): Promise<Map<string, number>> {
  const backlogs = new Map<string, number>();
  await runAtATime(statuses.slice(0, ASKED_MAX), ASKED_AT_ONCE, async ({ workgroupId, poll }) => {
    const messages = await findStream(workgroupId)
      .then((address) => address && countFrom(address, poll.nextOffset))
      .catch(() => undefined);
    if (messages !== undefined) backlogs.set(workgroupId, messages);
  });
  return backlogs;
}

async function countFrom(
  { url, workgroup, table, token }: UpstreamAddress,
  offset: string | undefined,
): Promise<number | undefined> {
  const query = new URLSearchParams({ limit: '1', ...(offset !== undefined && { offset }) });
  const server = new URL(url);
  const path = `${tablePath(server, workgroup, table, 'latest')}?${query}`;
  const answer = await fetch(new URL(path, server), {
    headers: { prefer: 'wait=0', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    signal: AbortSignal.timeout(WITHIN_MS),
  });
  const { decodeCbor } = await import('../cbor/cbor-codec.ts');
  const body = decodeCbor(Buffer.from(await answer.arrayBuffer())) as { count?: number };
  const behind = Number(answer.headers.get('stream-lag-messages') ?? Number.NaN);
  // The header counts the messages after the answer.
  return answer.ok && Number.isFinite(behind) ? behind + Number(body.count ?? 0) : undefined;
}
