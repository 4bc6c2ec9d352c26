import { z } from 'zod';
import type { Access } from '../../access/access.ts';
import { admit, type Gate } from '../../access/admit.ts';
import { bearerToken } from '../../access/bearer-token.ts';
import { checkToken, grantOrThrow } from '../../access/check-token.ts';
import type { Grant } from '../../access/grant.ts';
import { StreamError } from '../../contract/stream-errors.ts';
import { callerOf, type RateLimit, tooManyText } from '../../http/rate-limit.ts';
import type { Clock } from '../../lib/time.ts';
import type { StreamLog } from '../log/stream-log.ts';
import type { Stream } from '../stream.ts';
import type { ConnectionContext } from './socket-connection.ts';
import { createFrameSource, type FrameSource } from './socket-frames.ts';

export interface SocketAdmissionOptions extends Gate {
  access: Pick<Access, 'authenticate'>;
  stream: Stream;
  rateLimit: RateLimit;
  retentionMs: number;
  clock: Clock;
}

/** The data that a client sends when it connects. It is not trusted. */
interface Handshake {
  auth: unknown;
  query: unknown;
  authorization: string | undefined;
  address: string;
}

const textSchema = z.string().min(1).optional().catch(undefined);
const authSchema = z.object({ token: textSchema, workgroupId: z.unknown().optional() }).catch({});
const querySchema = z.object({ token: textSchema, orgName: z.unknown().optional() }).catch({});

/** @throws StreamError with the same code as a REST read */
type AdmitSocket = (handshake: Handshake) => Promise<ConnectionContext>;

/**
 * Decides which clients may connect. The token is in the `auth` of the handshake, in the query, or in an
 * Authorization header. The workgroup is in `auth` or in the query; without one it is the only workgroup of
 * the token.
 */
export function createSocketAdmission(options: SocketAdmissionOptions): AdmitSocket {
  const { stream, access, rateLimit } = options;
  const frameSources = new WeakMap<StreamLog, FrameSource>();

  const framesOf = (log: StreamLog): FrameSource => {
    const frames = frameSources.get(log) ?? createFrameSource(log, options);
    frameSources.set(log, frames);
    return frames;
  };

  return async (handshake) => {
    const auth = authSchema.parse(handshake.auth);
    const query = querySchema.parse(handshake.query);
    const token = auth.token ?? query.token ?? bearerToken(handshake.authorization);
    const authentication = await checkToken(access, token);
    const caller = callerOf(authentication, handshake.address);
    const waitSeconds = rateLimit.take(caller);
    if (waitSeconds > 0)
      throw new StreamError('RateLimited', `${tooManyText('connections', caller)}; wait ${waitSeconds} s`);
    const named = auth.workgroupId || query.orgName;
    const { workgroupId, grant, devices } = explainMissing(() => {
      const id = typeof named === 'string' ? named : onlyWorkgroup(grantOrThrow(authentication), named);
      return { workgroupId: id, ...admit(options, authentication, id, ['search:read']) };
    });
    const seesAudit = grant.scopes[workgroupId]!.permissions.includes('org:audit');
    const log = await stream.logOf(workgroupId);
    return { workgroupId, grant, devices, seesAudit, log, frames: framesOf(log) };
  };
}

/** Replaces the error for a missing token by an error that names the handshake. */
function explainMissing<Result>(action: () => Result): Result {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof StreamError) || error.code !== 'AuthenticationRequired') throw error;
    throw new StreamError('AuthenticationRequired', 'connect with auth: { token, workgroupId }');
  }
}

/**
 * The workgroup of a token that has only one, if the client names none.
 * @param given what the client sent instead of a text, if anything. It is refused, because the client may
 *   have meant another workgroup
 */
function onlyWorkgroup({ scopes }: Grant, given: unknown): string {
  const [workgroupId, ...others] = Object.keys(scopes);
  if (workgroupId !== undefined && others.length === 0 && !given) return workgroupId;
  throw new StreamError(
    'InvalidRequest',
    'name one workgroup, as text: auth: { token, workgroupId }, or orgName in the query',
    { parameter: 'workgroupId' },
  );
}
