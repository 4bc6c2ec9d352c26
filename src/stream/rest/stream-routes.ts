import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Access } from '../../access/access.ts';
import { admit, devicesNow, type Gate } from '../../access/admit.ts';
import type { Authorization } from '../../access/authorize.ts';
import type { Grant, Permission } from '../../access/grant.ts';
import { encodeCbor } from '../../cbor/cbor-codec.ts';
import { INGEST_TYPE_ADVICE, type IngestType, ingestTypes } from '../../contract/ingest-types.ts';
import { WILDCARD_TABLE } from '../../contract/messages.ts';
import type { Offset } from '../../contract/offset.ts';
import { parseTable } from '../../contract/parse-table.ts';
import { serviceLimits } from '../../contract/service-limits.ts';
import { StreamError } from '../../contract/stream-errors.ts';
import { limits } from '../../contract/wire-limits.ts';
import { prefersJson } from '../../http/accept-header.ts';
import { authenticationOf, rejectOtherMethods } from '../../http/http-server.ts';
import { perRequest } from '../../http/per-request.ts';
import { SECOND_MS } from '../../lib/time.ts';
import { encodeReadHead, READ_MESSAGES_BYTES_MAX } from '../encode-read-head.ts';
import { createBodyEncoder } from '../ingest/body-encoder.ts';
import { ingest, requireWritable } from '../ingest/ingest.ts';
import type { StreamLog } from '../log/stream-log.ts';
import type { Stream } from '../stream.ts';
import type { PollAnswer } from './long-poll.ts';
import { parseReadQuery, parseWaitPreference, type Query, showsAudit } from './read-request.ts';
import { CBOR, readSchema, sendSchema } from './route-schemas.ts';

export interface StreamRoutesOptions extends Gate {
  stream: Stream;
  access: Pick<Access, 'recheck'>;
  /** A read is held at most this long. Default: 20 s. */
  readHoldMsMax?: number;
}

const ROOT = '/api/v1/tables/:workgroupId/:tableName';
/** The route by which devices send messages. */
export const SEND_ROUTE = `${ROOT}/messages`;

/**
 * If an answer has more parts than this, they are copied into one, because that is cheaper than many writes
 * to the socket.
 */
const PARTS_WRITTEN_MAX = 64;

interface Address {
  workgroupId: string;
  tableName: string;
}

/**
 * Registers the REST interface of the stream: `GET .../latest` and `POST .../messages` below
 * `/api/v1/tables/`. Answers and errors are in CBOR. Errors and the answer to `POST` are in JSON if the
 * header `Accept` prefers it.
 */
export function registerStreamRoutes(app: FastifyInstance, options: StreamRoutesOptions): void {
  const { stream, readHoldMsMax = serviceLimits.readHoldMs } = options;

  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    for (const type of ingestTypes)
      scope.addContentTypeParser(
        type,
        { parseAs: 'buffer', bodyLimit: limits.ingestBytesMax },
        (_request, body, done) => done(null, body),
      );
    const encoder = createBodyEncoder();
    scope.addHook('onClose', () => encoder.close());
    // The schemas only describe the routes, because the contract has its own error for each parameter.
    scope.setValidatorCompiler(() => (value) => ({ value }));
    const authorizations = perRequest<{ devices: Authorization['devices']; log: StreamLog; grant: Grant }>();
    const guard =
      (requiredOf: (tableName: string) => readonly Permission[]) => async (request: FastifyRequest) => {
        const { workgroupId, tableName } = request.params as Address;
        if (stream.draining.aborted) await stream.logOf(workgroupId);
        const authentication = authenticationOf(request);
        const { devices, grant } = admit(options, authentication, workgroupId, requiredOf(tableName));
        authorizations.set(request, { devices, log: await stream.logOf(workgroupId), grant });
      };

    scope.get(
      `${ROOT}/latest`,
      {
        schema: readSchema,
        onRequest: guard((tableName) =>
          showsAudit(tableName) ? ['search:read', 'org:audit'] : ['search:read'],
        ),
      },
      async (request, reply) => {
        const { workgroupId, tableName } = request.params as Address;
        const { devices, log, grant } = authorizations.get(request);
        const table = tableName === WILDCARD_TABLE ? undefined : parseTable(tableName);
        const { start, limit } = parseReadQuery(request.query as Query);
        const preferredMs = parseWaitPreference(request.headers.prefer);
        const holdMs = Math.min(preferredMs ?? readHoldMsMax, readHoldMsMax);
        const disconnected = new AbortController();
        // After a complete answer, nothing is left to end.
        reply.raw.once('close', () => {
          if (!reply.raw.writableFinished) disconnected.abort();
        });
        const answer = await stream.poll(
          log,
          {
            start,
            limit,
            bytesMax: READ_MESSAGES_BYTES_MAX,
            holdMs,
            filter: { ...(table !== undefined && { table }), ...(devices !== 'all' && { devices }) },
            reader: grant.tokenId,
          },
          disconnected.signal,
          {
            expiresAtMs: grant.expiresAtMs,
            recheck() {
              options.access.recheck(grant);
              return devices === devicesNow(options, grant, workgroupId, ['search:read']);
            },
          },
        );
        if (preferredMs !== undefined) reply.header('Preference-Applied', `wait=${holdMs / SECOND_MS}`);
        reply.header('Stream-Lag-Messages', String(await log.countFrom(answer.nextOffset)));
        app.bytesUnderWay.hold(grant.tokenId, bytesOf(answer), reply.raw);
        return sendMessages(reply, answer);
      },
    );
    rejectOtherMethods(scope, `${ROOT}/latest`, ['GET']);

    scope.post(
      SEND_ROUTE,
      {
        bodyLimit: limits.ingestBytesMax,
        schema: sendSchema,
        onRequest: [guard(() => ['data:write']), requireReadable],
      },
      async (request, reply) => {
        const table = parseTable((request.params as Address).tableName);
        const { devices, log } = authorizations.get(request);
        const type = mediaType(request);
        const body = request.body as Buffer;
        const { workgroupId } = request.params as Address;
        const appended = await ingest(log, { table, type, body, devices }, (sent) =>
          encoder.encode(sent, workgroupId),
        );
        const { count, firstOffset, lastOffset } = appended;
        reply.stored = appended;
        if (prefersJson(request.headers.accept)) return sendJson(reply, appended);
        return sendCbor(reply, encodeCbor({ accepted: count, firstOffset, lastOffset }));
      },
    );
    rejectOtherMethods(scope, SEND_ROUTE, ['POST']);
  });
}

/** @throws StreamError if the service sends nothing to this table, or cannot read the body */
async function requireReadable(request: FastifyRequest): Promise<void> {
  requireWritable((request.params as Address).tableName);
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity')
    throw new StreamError('UnsupportedMediaType', 'send the body without a content encoding');
}

/**
 * Sends the head of the answer, and then the stored messages from the memory of the log. The messages are not
 * copied into one buffer, because that would take as long as sending them. `cork` needs a Content-Length.
 */
function sendMessages(reply: FastifyReply, answer: PollAnswer): FastifyReply {
  const { parts, ...fields } = answer;
  const head = encodeReadHead(fields);
  const length = head.length + bytesOf(answer);
  reply
    .type(CBOR)
    .header('Cache-Control', 'no-store')
    .header('Vary', 'Authorization')
    .header('Stream-Next-Offset', String(answer.nextOffset))
    .header('Stream-Up-To-Date', String(answer.upToDate))
    .header('Content-Length', String(length))
    .hijack();
  const { raw } = reply;
  if (raw.destroyed) return reply;
  raw.writeHead(200, reply.getHeaders() as Record<string, string>);
  raw.cork();
  raw.write(head);
  for (const part of parts.length > PARTS_WRITTEN_MAX ? [Buffer.concat(parts)] : parts) raw.write(part);
  raw.end();
  raw.uncork();
  return reply;
}

function bytesOf({ parts }: PollAnswer): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}

/** Offsets are text, because numbers of JSON do not have 64 bits. */
function sendJson(
  reply: FastifyReply,
  { count, firstOffset, lastOffset }: { count: number; firstOffset: Offset; lastOffset: Offset },
): FastifyReply {
  return reply
    .type('application/json; charset=utf-8')
    .header('Cache-Control', 'no-store')
    .header('Vary', 'Authorization, Accept')
    .serializer((body) => String(body))
    .send(
      JSON.stringify({ accepted: count, firstOffset: String(firstOffset), lastOffset: String(lastOffset) }),
    );
}

function sendCbor(reply: FastifyReply, body: Uint8Array): FastifyReply {
  return reply
    .type(CBOR)
    .header('Cache-Control', 'no-store')
    .header('Vary', 'Authorization')
    .send(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
}

function mediaType(request: FastifyRequest): IngestType {
  const name = (request.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
  const type = ingestTypes.find((known) => known === name);
  if (type === undefined) throw new StreamError('UnsupportedMediaType', INGEST_TYPE_ADVICE);
  return type;
}
