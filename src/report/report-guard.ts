import type { FastifyRequest } from 'fastify';
import { admit, type Gate } from '../access/admit.ts';
import type { Authorization } from '../access/authorize.ts';
import type { WorkgroupConfig } from '../config/config.ts';
import { authenticationOf } from '../http/http-server.ts';

/** Lets a request to a route of a workgroup in. Who may not ask hears nothing of what is wrong with the question. */
export type Guard = (
  request: FastifyRequest,
) => Promise<{ workgroup: WorkgroupConfig; authorization: Authorization }>;

/** The routes have `attachValidation`, so that the question is looked at after who asks it. */
export function createGuard({ audit }: Pick<Gate, 'audit'>, configured: readonly WorkgroupConfig[]): Guard {
  const workgroups = new Map(configured.map((workgroup) => [workgroup.id, workgroup]));
  const gate = { audit, groupsOf: (id: string) => workgroups.get(id)?.deviceGroups };
  return async (request) => {
    const { workgroupId } = request.params as { workgroupId: string };
    const authorization = admit(gate, authenticationOf(request), workgroupId, ['search:read']);
    if (request.validationError) throw request.validationError;
    return { workgroup: workgroups.get(workgroupId)!, authorization };
  };
}
