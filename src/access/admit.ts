import { StreamError } from '../contract/stream-errors.ts';
import type { Access } from './access.ts';
import type { AccessAudit, RefusalReason } from './access-audit.ts';
import { type Authorization, authorize, type DeviceGroups, workgroupForbidden } from './authorize.ts';
import type { Grant, Permission } from './grant.ts';
import { RefusedToken } from './refused-token.ts';

/** What decides who is let in. */
export interface Gate {
  access: Pick<Access, 'authenticate'>;
  /** The device groups of a workgroup; undefined where there is no such workgroup. */
  groupsOf(workgroupId: string): DeviceGroups | undefined;
  /** Takes note of who was let in for the first time, and of who was not. */
  audit?: AccessAudit | undefined;
}

export interface Admission extends Authorization {
  grant: Grant;
}

/**
 * Lets the holder of a token in to a workgroup, or not: the one way in, whatever the door.
 * @throws StreamError AuthenticationRequired, InvalidToken, InsufficientScope, or WorkgroupForbidden whether or not it exists
 */
export async function admit(
  { access, groupsOf, audit }: Gate,
  token: string | undefined,
  workgroupId: string,
  required: readonly Permission[],
): Promise<Admission> {
  const groups = groupsOf(workgroupId);
  let grant: Grant | undefined;
  try {
    grant = await access.authenticate(token);
    if (groups === undefined) throw workgroupForbidden(required);
    const { devices } = authorize(grant, workgroupId, required, groups);
    audit?.used(workgroupId, grant);
    return { devices, grant };
  } catch (error) {
    const reason = groups === undefined ? undefined : reasonOf(error);
    if (reason !== undefined)
      audit?.refused(workgroupId, reason, error instanceof RefusedToken ? error.grant : grant);
    throw error;
  }
}

/** A request without a token is no attempt to use one, and a fault of ours is not the token's. */
function reasonOf(error: unknown): RefusalReason | undefined {
  if (error instanceof RefusedToken) return error.reason;
  if (!(error instanceof StreamError)) return undefined;
  if (error.code === 'InsufficientScope') return 'insufficient_scope';
  return error.code === 'WorkgroupForbidden' ? 'other_workgroup' : undefined;
}
