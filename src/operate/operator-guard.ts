import type { FastifyRequest } from 'fastify';
import { admit, type Gate } from '../access/admit.ts';
import type { Authorization } from '../access/authorize.ts';
import { actorOf, type Grant, type Permission } from '../access/grant.ts';
import type { WorkgroupConfig } from '../config/config.ts';
import type { Workgroups } from '../config/workgroups.ts';
import { StreamError } from '../contract/stream-errors.ts';
import { authenticationOf } from '../http/http-server.ts';
import { errorSchema } from '../report/report-schemas.ts';

/** A request with a sufficient token. */
export interface Operator {
  workgroup: WorkgroupConfig;
  devices: Authorization['devices'];
  grant: Grant;
  /** The name of the token in the audit log. */
  actor: string;
}

/**
 * Checks the permissions of a request before its parameters, so an unauthorized caller gets no details. The
 * routes have `attachValidation`.
 * @param whole true for answers about the whole workgroup: a token of device groups gets 403
 */
export type OperatorGuard = (
  request: FastifyRequest,
  required: readonly Permission[],
  options?: { whole: boolean },
) => Operator;

export function createOperatorGuard({
  audit,
  workgroups,
}: Pick<Gate, 'audit'> & { workgroups: Pick<Workgroups, 'get'> }): OperatorGuard {
  const gate = { audit, groupsOf: (id: string) => workgroups.get(id)?.deviceGroups };
  return (request, required, { whole } = { whole: true }) => {
    const { workgroupId } = request.params as { workgroupId: string };
    const { devices, grant } = admit(gate, authenticationOf(request), workgroupId, required);
    if (whole && devices !== 'all')
      throw new StreamError(
        'InsufficientScope',
        'this is about the whole workgroup; a token that is restricted to device groups cannot see it; use one without device groups',
        { required: [...required] },
      );
    if (request.validationError) throw request.validationError;
    return { workgroup: workgroups.get(workgroupId)!, devices, grant, actor: actorOf(grant) };
  };
}

/** The errors of all routes for operators. */
export const operatorErrors = {
  400: errorSchema.meta({
    description: 'A parameter or a member of the body is unknown or wrong; `parameter` names it',
  }),
  401: errorSchema,
  403: errorSchema.meta({
    description:
      'The token lacks a permission (see `required`), or it is restricted to device groups and the answer is about the whole workgroup',
  }),
  429: errorSchema,
  503: errorSchema,
};
