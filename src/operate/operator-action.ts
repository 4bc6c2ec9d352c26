import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Audit, AuditEntry } from '../audit/audit.ts';
import { addressSchema } from '../report/day-request.ts';
import { errorSchema } from '../report/report-schemas.ts';
import { type Operator, type OperatorGuard, operatorErrors } from './operator-guard.ts';

const BODY_BYTES_MAX = 4_096;

/** The parts of its request that an action gets. */
interface ActionRequest<Body> extends Pick<Operator, 'workgroup' | 'actor'> {
  body: Body;
  params: FastifyRequest['params'];
  reply: FastifyReply;
  /** Writes an entry of the audit log, with the name of the token. */
  record(action: AuditEntry['action'], about?: Pick<AuditEntry, 'target' | 'data'>): void;
}

/** An action of an operator: a POST, or a DELETE without a body. */
interface OperatorAction<Body extends z.ZodType> {
  method?: 'POST' | 'DELETE';
  url: string;
  /** Default: the workgroup alone. */
  params?: z.ZodType;
  summary: string;
  description: string;
  body?: Body;
  /** Answers by status, in addition to the errors of all actions. */
  answers: Record<number, z.ZodType>;
  run(request: ActionRequest<z.output<Body>>): Promise<unknown>;
}

/**
 * Registers an action. It needs `org:admin`, which is checked before the body is read, and its answer is not
 * cached.
 */
export function registerAction<Body extends z.ZodType>(
  app: FastifyInstance,
  { guard, audit }: { guard: OperatorGuard; audit: Pick<Audit, 'record'> },
  action: OperatorAction<Body>,
): void {
  const { method = 'POST', url, params = addressSchema, summary, description, body, answers, run } = action;
  const errors = { ...operatorErrors, ...(body && { 413: errorSchema, 415: errorSchema }) };
  app.route({
    method,
    url,
    attachValidation: true,
    ...(body && {
      bodyLimit: BODY_BYTES_MAX,
      onRequest: async (request: FastifyRequest) => void guard(request, ['org:admin']),
    }),
    schema: {
      tags: ['operate'],
      params,
      summary,
      description,
      ...(body && { body }),
      response: { ...errors, ...answers },
    },
    async handler(request, reply) {
      const { workgroup, actor } = guard(request, ['org:admin']);
      reply.header('Cache-Control', 'no-store');
      return run({
        workgroup,
        actor,
        body: request.body as z.output<Body>,
        params: request.params,
        reply,
        record: (name, about) => audit.record(workgroup.id, { actor, action: name, ...about }),
      });
    },
  });
}
