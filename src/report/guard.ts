import type { FastifyRequest } from 'fastify';
import type { Access } from '../access/access.ts';
import { type Authorization, authorize, workgroupForbidden } from '../access/authorize.ts';
import { bearerToken } from '../access/bearer.ts';
import type { WorkgroupConfig } from '../config.ts';

/** Lets a request to a route of a workgroup in. Who may not ask hears nothing of what is wrong with the question. */
export type Guard = (
  request: FastifyRequest,
) => Promise<{ workgroup: WorkgroupConfig; authorization: Authorization }>;

/** The routes have `attachValidation`, so that the question is looked at after who asks it. */
export function createGuard(
  access: Pick<Access, 'authenticate'>,
  configured: readonly WorkgroupConfig[],
): Guard {
  const workgroups = new Map(configured.map((workgroup) => [workgroup.id, workgroup]));
  return async (request) => {
    const { workgroupId } = request.params as { workgroupId: string };
    const grant = await access.authenticate(bearerToken(request.headers.authorization));
    const workgroup = workgroups.get(workgroupId);
    if (!workgroup) throw workgroupForbidden(['search:read']);
    const authorization = authorize(grant, workgroupId, ['search:read'], workgroup.deviceGroups);
    if (request.validationError) throw request.validationError;
    return { workgroup, authorization };
  };
}
