import { StreamError } from '../contract/stream-errors.ts';
import type { AccessAudit, RefusalReason } from './access-audit.ts';
import { type Authorization, authorize, type DeviceGroups, workgroupForbidden } from './authorize.ts';
import { type Authentication, grantOrThrow } from './check-token.ts';
import type { Grant, Permission } from './grant.ts';
import { RefusedToken } from './refused-token.ts';

/** What `admit` needs to know of workgroups, and where it records its decisions. */
export interface Gate {
  /** The device groups of a workgroup; undefined if there is no such workgroup. */
  groupsOf(workgroupId: string): DeviceGroups | undefined;
  /** Records the first use of a token, and each refusal. */
  audit?: AccessAudit | undefined;
}

interface Admission extends Authorization {
  grant: Grant;
}

/**
 * Decides if the holder of a token may use a workgroup. Every route and socket uses this function.
 * @throws StreamError AuthenticationRequired, InvalidToken or InsufficientScope; WorkgroupForbidden whether
 *   or not the workgroup exists
 */
export function admit(
  { groupsOf, audit }: Gate,
  authentication: Authentication,
  workgroupId: string,
  required: readonly Permission[],
): Admission {
  const groups = groupsOf(workgroupId);
  try {
    const grant = grantOrThrow(authentication);
    if (groups === undefined) throw workgroupForbidden(required);
    const { devices } = authorize(grant, workgroupId, required, groups);
    audit?.noteUsed(workgroupId, grant);
    return { devices, grant };
  } catch (error) {
    const reason = groups === undefined ? undefined : reasonOf(error);
    if (reason !== undefined) audit?.noteRefused(workgroupId, reason, refusedGrant(authentication));
    throw error;
  }
}

/**
 * The devices that an admitted grant may read now, because the configuration can change while a read or a
 * connection lasts. The same object is returned until the device groups change.
 * @throws StreamError WorkgroupForbidden if the workgroup is not configured any more
 */
export function devicesNow(
  { groupsOf }: Pick<Gate, 'groupsOf'>,
  grant: Grant,
  workgroupId: string,
  required: readonly Permission[],
): Authorization['devices'] {
  const groups = groupsOf(workgroupId);
  if (groups === undefined) throw workgroupForbidden(required);
  return authorize(grant, workgroupId, required, groups).devices;
}

function refusedGrant(authentication: Authentication): Grant | undefined {
  if (authentication.kind === 'granted') return authentication.grant;
  return authentication.error instanceof RefusedToken ? authentication.error.grant : undefined;
}

/** Undefined for a request without a token and for a fault of the service, which are not recorded. */
function reasonOf(error: unknown): RefusalReason | undefined {
  if (error instanceof RefusedToken) return error.reason;
  if (!(error instanceof StreamError)) return undefined;
  if (error.code === 'InsufficientScope') return 'insufficient_scope';
  return error.code === 'WorkgroupForbidden' ? 'other_workgroup' : undefined;
}
