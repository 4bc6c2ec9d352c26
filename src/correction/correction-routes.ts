import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { admit, type Gate } from '../access/admit.ts';
import { actorOf, type Permission } from '../access/grant.ts';
import type { Workgroups } from '../config/workgroups.ts';
import { deviceIdSchema, nameSchema } from '../contract/messages.ts';
import { StreamError, unavailable } from '../contract/stream-errors.ts';
import { answerOfOwner, OWNER_RETRY_SECONDS, type OwnerOutcome } from '../http/answer-of-owner.ts';
import { authenticationOf, rejectOtherMethods } from '../http/http-server.ts';
import { perRequest } from '../http/per-request.ts';
import { countParameter, once } from '../http/query-schemas.ts';
import { tagged } from '../http/send-tagged.ts';
import { InputError, isRetryable, NOT_IN_BUCKET, TerminalError, TransientError } from '../lib/errors.ts';
import { isLocalDate } from '../lib/time.ts';
import { bodySchema, requestOf } from './correction-body.ts';
import { type CorrectionQuery, type CorrectionRequest, correctionLimits } from './correction-request.ts';
import { type ListedCorrection, listedCorrectionSchema } from './list-corrections.ts';
import type { CorrectOutcome } from './store-correction.ts';

export interface CorrectionRoutesOptions extends Pick<Gate, 'audit'> {
  workgroups: Pick<Workgroups, 'get'>;
  /** Asks the process that has the warehouse of a workgroup open. */
  correct(
    workgroupId: string,
    args: { request: CorrectionRequest; author: string; dryRun: boolean; requestId: string },
  ): Promise<OwnerOutcome<CorrectOutcome>>;
  list(workgroupId: string, query: CorrectionQuery): Promise<OwnerOutcome<ListedCorrection[]>>;
  /** The answer of a list, in JSON or as rows, and the query parameters that choose between them. */
  answer: {
    parameters: z.core.$ZodShape;
    send(
      request: FastifyRequest,
      reply: FastifyReply,
      corrections: readonly ListedCorrection[],
    ): Promise<FastifyReply>;
  };
}

const url = '/api/v1/orgs/:workgroupId/corrections';
const BODY_BYTES_MAX = 16 * 1024;
const LIST_DEFAULT = 100;

const flag = z.enum(['true', 'false'], { error: 'must be "true" or "false"' }).optional();

const storeQuerySchema = z.object({
  dryRun: flag.meta({ description: 'With `true`, returns the changes and stores nothing' }),
});
const listQuerySchema = z.object({
  device: z.string(once).pipe(deviceIdSchema).optional().meta({ description: 'Only of this device' }),
  source: z.string(once).pipe(nameSchema).optional().meta({ description: 'Only of sources of this name' }),
  day: z
    .string(once)
    .refine(isLocalDate, { error: 'must be a day that exists, such as 2026-11-20' })
    .optional()
    .meta({ description: "Only those that overlap this day of the workgroup's time zone" }),
  inForce: flag.meta({ description: 'With `true`, only those in force: not undone ones, and no undos' }),
  before: countParameter(999_999_999).meta({ description: 'Only those with a lower id, for the next page' }),
  limit: countParameter(correctionLimits.shownMax).meta({
    description: `The maximum number of corrections of the answer: ${LIST_DEFAULT} by default, at most ${correctionLimits.shownMax}`,
  }),
});

const storedSchema = z.object({
  outcome: z.enum(['stored', 'stored-before', 'checked']).meta({
    description:
      'stored; stored-before: a correction with the same key was stored before, nothing was done; checked: a dry run',
  }),
  correction: listedCorrectionSchema,
});
const listSchema = z.object({ corrections: z.array(listedCorrectionSchema) });
const errorSchema = z.object({
  error: z.string(),
  message: z.string(),
  status: z.number().int(),
  retryable: z.boolean(),
  parameter: z.string().optional(),
});
const errors = { 401: errorSchema, 403: errorSchema, 429: errorSchema, 503: errorSchema };

/** `POST .../corrections` stores one, `GET .../corrections` lists them. */
export function registerCorrectionRoutes(app: FastifyInstance, options: CorrectionRoutesOptions): void {
  const gate = { ...options, groupsOf: (id: string) => options.workgroups.get(id)?.deviceGroups };
  const enter = async (request: FastifyRequest, permission: Permission) => {
    const { workgroupId } = request.params as { workgroupId: string };
    const admission = admit(gate, authenticationOf(request), workgroupId, [permission]);
    return { ...admission, workgroupId };
  };
  const admitted = perRequest<Awaited<ReturnType<typeof enter>>>();
  const params = z.object({ workgroupId: z.string().meta({ description: 'Workgroup' }) });

  app.post(
    url,
    {
      attachValidation: true,
      bodyLimit: BODY_BYTES_MAX,
      // The token is checked before the body is read.
      onRequest: async (request) => admitted.set(request, await enter(request, 'data:correct')),
      schema: {
        summary: 'Correct measured energy',
        description:
          'Excludes readings, sets the energy of intervals or of a day, estimates a gap, or undoes another correction. The answer comes when it is stored and computed, with the changed days. Reports have it when it is published, within seconds. Needs `data:correct`. A token of device groups corrects its own devices only.',
        tags: ['report'],
        params,
        querystring: storeQuerySchema,
        body: bodySchema,
        response: {
          200: storedSchema,
          400: errorSchema.meta({ description: '`parameter` names the wrong parameter. Nothing was stored' }),
          ...errors,
          413: errorSchema,
          415: errorSchema,
        },
      },
    },
    async (request, reply) => {
      const { devices, grant, workgroupId } = admitted.get(request);
      if (request.validationError) throw request.validationError;
      const { dryRun } = request.query as z.output<typeof storeQuerySchema>;
      const correction = requestOf(request.body as z.output<typeof bodySchema>);
      if (devices !== 'all') {
        const list = (query: CorrectionQuery) => options.list(workgroupId, query);
        await checkDevices(correction, { devices, workgroupId, list });
      }
      const author = actorOf(grant);
      reply.header('Cache-Control', 'no-store');
      const args = { request: correction, author, dryRun: dryRun === 'true', requestId: request.id };
      return answerOfOwner(await options.correct(workgroupId, args), workgroupId, refusalOf);
    },
  );

  app.get(
    url,
    {
      attachValidation: true,
      schema: {
        summary: 'Corrections',
        description:
          'Corrections, newest first, including undone ones and undos. Read from the warehouse by the worker that has it open, so it includes the newest ones.',
        tags: ['report'],
        params,
        querystring: listQuerySchema.extend(options.answer.parameters),
        response: tagged(listSchema, { 400: errorSchema, ...errors }),
      },
    },
    async (request, reply) => {
      const { devices, workgroupId } = await enter(request, 'search:read');
      if (request.validationError) throw request.validationError;
      const { device, source, day, inForce, before, limit } = request.query as z.output<
        typeof listQuerySchema
      >;
      const visible = devices === 'all' ? undefined : [...devices];
      const chosenDevices =
        device === undefined ? visible : (visible ?? [device]).filter((one) => one === device);
      const query = {
        ...(source !== undefined && { source }),
        ...(day !== undefined && { day }),
        ...(before !== undefined && { before }),
        limit: limit ?? LIST_DEFAULT,
        inForce: inForce === 'true',
        ...(chosenDevices && { devices: chosenDevices }),
      };
      const corrections = answerOfOwner(await options.list(workgroupId, query), workgroupId, refusalOf);
      const visibleOnes = corrections.map((one) => withVisibleBasis(one, devices));
      return options.answer.send(request, reply, visibleOnes);
    },
  );
  rejectOtherMethods(app, url, ['GET', 'POST']);
}

/** Devices that a token cannot see are treated as missing. */
async function checkDevices(
  request: CorrectionRequest,
  {
    devices,
    workgroupId,
    list,
  }: {
    devices: ReadonlySet<string>;
    workgroupId: string;
    list: (query: CorrectionQuery) => Promise<OwnerOutcome<ListedCorrection[]>>;
  },
): Promise<void> {
  if (request.kind === 'undo') {
    const id = request.correctionId;
    const listed = await list({ devices: [...devices], before: id + 1, limit: 1 });
    const [newest] = answerOfOwner(listed, workgroupId, refusalOf);
    if (newest?.id !== id) throw refusal('correction', `there is no correction ${id}`);
    return;
  }
  if (!devices.has(request.device)) throw refusal('device', 'no reading of this device has been taken in');
  if (request.kind === 'fill' && request.like && !devices.has(request.like.device))
    throw refusal('like', 'no reading of this device has been taken in');
}

/** The correction without its basis if this is a device that the token cannot see. */
function withVisibleBasis(
  correction: ListedCorrection,
  devices: ReadonlySet<string> | 'all',
): ListedCorrection {
  const { basis } = correction;
  if (devices === 'all' || basis?.from !== 'other_source' || devices.has(basis.device)) return correction;
  return { ...correction, basis: null };
}

function refusalOf(error: Error): Error {
  if (error instanceof InputError) {
    const [problem] = error.problems;
    return refusal(problem!.path, problem!.message);
  }
  if (!isRetryable(error)) return error instanceof TerminalError ? error : new Error(error.message);
  if (error instanceof TransientError && [NOT_IN_BUCKET, 'NothingRolledUp'].includes(error.code))
    return unavailable(error.message, OWNER_RETRY_SECONDS);
  return unavailable(
    'the worker cannot store it just now; send it again in a moment',
    OWNER_RETRY_SECONDS,
    error,
  );
}

function refusal(parameter: string, message: string): StreamError {
  return new StreamError('InvalidRequest', `${parameter}: ${message}`, { parameter });
}
