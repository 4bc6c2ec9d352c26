import type { FastifyRequest } from 'fastify';
import type { Access } from '../access/access.ts';
import { admit, type Gate } from '../access/admit.ts';
import type { Authorization } from '../access/authorize.ts';
import type { WorkgroupConfig } from '../config/config.ts';
import type { Workgroups } from '../config/workgroups.ts';
import { authenticationOf } from '../http/http-server.ts';
import type { LakeReader } from './lake/lake-reader.ts';
import { requireCaller, waitForOffset } from './lake/wait-for-offset.ts';

/** Checks the permissions of a request before its parameters, so an unauthorized caller gets no details. */
export type Guard = (
  request: FastifyRequest,
) => Promise<{ workgroup: WorkgroupConfig; authorization: Authorization }>;

/**
 * The routes have `attachValidation`, so wrong parameters are reported only after the permissions were
 * checked. A request with `after` waits until its message is published.
 */
export function createGuard(
  { access, audit, lake }: Pick<Gate, 'audit'> & { access: Pick<Access, 'recheck'>; lake: LakeReader },
  workgroups: Pick<Workgroups, 'get'>,
): Guard {
  const gate = { audit, groupsOf: (id: string) => workgroups.get(id)?.deviceGroups };
  return async (request) => {
    const { workgroupId } = request.params as { workgroupId: string };
    const { grant, ...authorization } = admit(gate, authenticationOf(request), workgroupId, ['search:read']);
    if (request.validationError) throw request.validationError;
    const { after } = request.query as { after?: string };
    if (after !== undefined)
      await waitForOffset(lake, workgroupId, BigInt(after), {
        require: () => {
          requireCaller(request.raw.socket);
          access.recheck(grant);
        },
      });
    return { workgroup: workgroups.get(workgroupId)!, authorization };
  };
}
