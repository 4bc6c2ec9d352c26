import type { Access } from '../access/access.ts';
import type { UpstreamAddress } from '../backfill/backfill-request.ts';
import type { TokenSource } from '../client/rest-source.ts';
import type { WorkgroupConfig } from '../config/config.ts';
import type { Workgroups } from '../config/workgroups.ts';
import { type Clock, elapsedOf, HOUR_MS, systemClock } from '../lib/time.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { PipelineStagesOptions } from '../pipeline/pipeline-stages.ts';

type Upstream = ReturnType<PipelineStagesOptions['upstreamOf']>;

/** The streams of workgroups: the configured upstream, or else the own stream. */
export function createUpstreams(
  workgroups: Pick<Workgroups, 'get'>,
  ownUrl: string,
  access: Pick<Access, 'issue'>,
  clock: Clock = systemClock,
): {
  upstreamOf(workgroup: WorkgroupConfig): Upstream;
  /** With a valid token, for parts that cannot get a new one. */
  addressOf(workgroupId: string): Promise<UpstreamAddress>;
} {
  function upstreamOf({ id, upstream }: WorkgroupConfig): Upstream {
    return {
      url: upstream?.url ?? ownUrl,
      workgroup: upstream?.workgroup ?? id,
      table: upstream?.table ?? '-',
      transport: upstream?.transport ?? 'rest',
      ...(upstream && { socketPath: upstream.socketPath }),
      ...(upstream
        ? upstream.token !== undefined && { token: upstream.token }
        : { token: ownToken(access, id, clock) }),
    };
  }
  return {
    upstreamOf,
    async addressOf(workgroupId) {
      const { url, workgroup, table, token } = upstreamOf(workgroups.get(workgroupId)!);
      const value = typeof token === 'function' ? await token(false) : token;
      return { url, workgroup, table, ...(value !== undefined && { token: value }) };
    },
  };
}

/** Adds the address of the stream to operations that read it. Callers from outside do not send it. */
export function withUpstreams(
  pipeline: Pick<Pipeline, 'run'>,
  addressOf: (workgroupId: string) => Promise<UpstreamAddress>,
): Pick<Pipeline, 'run'> {
  return {
    async run(workgroupId, operation, args, transfer, signal) {
      switch (operation) {
        case 'backfillStart':
        case 'backfillPlan':
        case 'backfillGaps': {
          const upstream = await addressOf(workgroupId);
          return pipeline.run(
            workgroupId,
            operation,
            { ...(args as object), upstream } as typeof args,
            transfer,
            signal,
          );
        }
        default:
          return pipeline.run(workgroupId, operation, args, transfer, signal);
      }
    },
  };
}

/** A token of this process for its own stream. It is renewed before it expires or when it is refused. */
function ownToken(access: Pick<Access, 'issue'>, workgroupId: string, clock: Clock): TokenSource {
  let token: string | undefined;
  let renewAtMs = 0;
  return async (renew) => {
    if (token === undefined || renew || elapsedOf(clock) >= renewAtMs) {
      const scopes = { [workgroupId]: { permissions: ['search:read' as const, 'org:audit' as const] } };
      const issued = await access.issue(
        { subject: 'wattline-worker', scopes, lifetimeMs: HOUR_MS },
        { unlisted: true },
      );
      token = issued.token;
      renewAtMs = elapsedOf(clock) + HOUR_MS / 2;
    }
    return token;
  };
}
