import type { FastifyRequest } from 'fastify';
import { admit, type Gate } from '../access/admit.ts';
import type { Authorization } from '../access/authorize.ts';
import { bearerToken } from '../access/bearer.ts';
import type { WorkgroupConfig } from '../config/config.ts';

/** Checks the token of a request before its parameters, so an unauthorized caller gets no details. */
export type Guard = (
  request: FastifyRequest,
) => Promise<{ workgroup: WorkgroupConfig; authorization: Authorization }>;

/** The routes have `attachValidation`, so that the token is checked before the parameters. */
export function createGuard(
  { access, audit }: Pick<Gate, 'access' | 'audit'>,
  configured: readonly WorkgroupConfig[],
): Guard {
  const workgroups = new Map(configured.map((workgroup) => [workgroup.id, workgroup]));
  const gate = { access, audit, groupsOf: (id: string) => workgroups.get(id)?.deviceGroups };
  return async (request) => {
    const { workgroupId } = request.params as { workgroupId: string };
    const token = bearerToken(request.headers.authorization);
    const authorization = await admit(gate, token, workgroupId, ['search:read']);
    if (request.validationError) throw request.validationError;
    return { workgroup: workgroups.get(workgroupId)!, authorization };
  };
}
