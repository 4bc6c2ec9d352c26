import type { Config } from '../../config/config.ts';
import { createWorkgroups } from '../../config/workgroups.ts';
import { SECOND_MS, systemClock } from '../../lib/time.ts';
import type { WorkgroupStatus } from '../../pipeline/workgroup-status.ts';

const WITHIN_MS = 2 * SECOND_MS;
const ASKED_MAX = 200;
const ASKED_AT_ONCE = 16;

/**
 * Counts the messages that have not landed, by asking the streams. For workgroups whose worker does not report it now.
 * @param ownUrl the address of the own stream; undefined if it does not run on this machine
 * @returns the count by workgroup; a workgroup whose stream cannot be asked is left out
 */
export async function countBacklogs(
  config: Config,
  statuses: ReadonlyArray<Pick<WorkgroupStatus, 'workgroupId' | 'poll'>>,
  ownUrl: string | undefined,
): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  if (statuses.length === 0) return found;
  const { createAccess } = await import('../../access/access.ts');
  const { createUpstreams } = await import('../../service/upstreams.ts');
  const access = ownUrl
    ? await createAccess({ dataDir: config.dataDir, ...config.access, clock: systemClock })
    : undefined;
  const issue: Parameters<typeof createUpstreams>[2]['issue'] = (...request) => access!.issue(...request);
  const { addressOf } = createUpstreams(createWorkgroups(config), ownUrl ?? '', { issue });
  const waiting = statuses.slice(0, ASKED_MAX);
  const lane = async () => {
    for (let status = waiting.shift(); status; status = waiting.shift()) {
      const { workgroupId, poll } = status;
      const isOwn = !config.workgroups.find(({ id }) => id === workgroupId)?.upstream;
      if (isOwn && !ownUrl) continue;
      const messages = await addressOf(workgroupId)
        .then((address) => countFrom(address, poll.nextOffset))
        .catch(() => undefined);
      if (messages !== undefined) found.set(workgroupId, messages);
    }
  };
  await Promise.all(Array.from({ length: ASKED_AT_ONCE }, lane));
  return found;
}

async function countFrom(
  { url, workgroup, table, token }: { url: string; workgroup: string; table: string; token?: string },
  offset: string | undefined,
): Promise<number | undefined> {
  const query = new URLSearchParams({ limit: '1', ...(offset !== undefined && { offset }) });
  const path = `/api/v1/tables/${encodeURIComponent(workgroup)}/${encodeURIComponent(table)}/latest?${query}`;
  const answer = await fetch(`${url.replace(/\/$/, '')}${path}`, {
    headers: { prefer: 'wait=0', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    signal: AbortSignal.timeout(WITHIN_MS),
  });
  const { decodeCbor } = await import('../../cbor/cbor-codec.ts');
  const body = decodeCbor(Buffer.from(await answer.arrayBuffer())) as { count?: number };
  const behind = Number(answer.headers.get('stream-lag-messages') ?? Number.NaN);
  // The header counts the messages after the answer.
  return answer.ok && Number.isFinite(behind) ? behind + Number(body.count ?? 0) : undefined;
}
