import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { admit, type Gate } from '../access/admit.ts';
import { grantOrThrow } from '../access/check-token.ts';
import { earlierOffset, laterOffset } from '../contract/offset.ts';
import { StreamError } from '../contract/stream-errors.ts';
import { limits } from '../contract/wire-limits.ts';
import { sendError, toStreamError } from '../http/http-errors.ts';
import { authenticationOf, rejectOtherMethods } from '../http/http-server.ts';
import { perRequest } from '../http/per-request.ts';
import { errorCode } from '../lib/errors.ts';
import { formatCount } from '../lib/format-count.ts';
import type { Logger } from '../lib/logger.ts';
import type { Clock } from '../lib/time.ts';
import type { StreamLog } from '../stream/log/stream-log.ts';
import type { Stream } from '../stream/stream.ts';
import { influx1Error, influxError, RefusedLinesError } from './influx-errors.ts';
import { influxToken } from './influx-token.ts';
import type { Inputs } from './inputs.ts';
import { isPrecision, type Precision } from './parse-line.ts';
import { takeLines } from './take-lines.ts';

interface LineRoutesOptions extends Gate {
  stream: Pick<Stream, 'logOf'>;
  inputs: Pick<Inputs, 'linesOf'>;
  clock: Clock;
  logger: Logger;
}

/** The endpoints of InfluxDB 2 and 1, and the parameter that names the workgroup. */
const endpoints = [
  { path: '/api/v2/write', workgroupIn: 'bucket', errorBody: influxError, title: 'InfluxDB 2' },
  { path: '/write', workgroupIn: 'db', errorBody: influx1Error, title: 'InfluxDB 1' },
] as const;

const unzip = promisify(gunzip);

interface Authorized {
  workgroupId: string;
  devices: ReadonlySet<string> | 'all';
  log: StreamLog;
}

/**
 * Registers the endpoints that take the Influx line protocol. Lines that can be read are stored, even if
 * others are refused. The answer comes after the lines are stored.
 */
export function registerLineRoutes(app: FastifyInstance, options: LineRoutesOptions): void {
  const { stream, inputs, clock, logger } = options;
  const authorizations = perRequest<Authorized>();

  for (const { path, workgroupIn, errorBody, title } of endpoints) {
    app.register(async (scope) => {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser(
        '*',
        { parseAs: 'buffer', bodyLimit: limits.ingestBytesMax },
        (_request, body, done) => done(null, body),
      );
      scope.setErrorHandler((error, request, reply) =>
        sendError(request, reply, toStreamError(error, request, logger), errorBody),
      );
      scope.setValidatorCompiler(() => (value) => ({ value }));
      scope.post(
        path,
        {
          bodyLimit: limits.ingestBytesMax,
          schema: schemaOf(workgroupIn, title),
          config: {
            tokenOf: ({ headers, query }) => influxToken(headers.authorization, query),
            bodyMemoryOf: (request, bytes) =>
              encodingOf(request) === 'gzip' ? limits.ingestBytesMax : bytes,
          },
          onRequest: async (request) => {
            const authentication = authenticationOf(request);
            grantOrThrow(authentication);
            const workgroupId = workgroupOf(request, workgroupIn);
            const { devices } = admit(options, authentication, workgroupId, ['data:write']);
            authorizations.set(request, {
              workgroupId,
              devices,
              log: await stream.logOf(workgroupId),
            });
          },
        },
        async (request, reply) => {
          const { workgroupId, devices, log } = authorizations.get(request);
          const lines = inputs.linesOf(workgroupId);
          if (lines === undefined)
            throw new StreamError(
              'InvalidRequest',
              `the workgroup "${workgroupId}" has no rules for lines; add inputs.lines to its configuration`,
            );
          const { read, counter } = lines;
          const context = { precision: precisionOf(request), receivedAtMs: clock.now(), devices };
          const taken = await takeLines(await textOf(request), read, context, counter);
          const appended = await Promise.all(taken.batches.map((batch) => log.append(batch)));
          if (appended.length > 0)
            reply.stored = {
              firstOffset: appended.map(({ firstOffset }) => firstOffset).reduce(earlierOffset),
              lastOffset: appended.map(({ lastOffset }) => lastOffset).reduce(laterOffset),
            };
          counter.count('stored', taken.readings);
          if (taken.refusedCount > 0) throw new RefusedLinesError(taken.refused, taken);
          return reply.code(204).header('Cache-Control', 'no-store').send();
        },
      );
      rejectOtherMethods(scope, path, ['POST']);
    });
  }
}

function parameterOf(request: FastifyRequest, name: string): string | undefined {
  const given = (request.query as Record<string, unknown>)[name];
  if (given === undefined || typeof given === 'string') return given;
  throw new StreamError('InvalidRequest', `${name} must be given once`, { parameter: name });
}

/** A name such as `home/autogen` has a retention policy behind the slash, which is ignored. */
function workgroupOf(request: FastifyRequest, name: 'bucket' | 'db'): string {
  const workgroupId = parameterOf(request, name)?.split('/')[0];
  if (workgroupId) return workgroupId;
  throw new StreamError('InvalidRequest', `${name} is missing; it names the workgroup`, { parameter: name });
}

function precisionOf(request: FastifyRequest): Precision {
  const text = parameterOf(request, 'precision') ?? 'ns';
  if (isPrecision(text)) return text;
  throw new StreamError('InvalidRequest', 'precision must be one of ns, us, ms, s, n, u, m, h', {
    parameter: 'precision',
  });
}

function encodingOf({ headers }: FastifyRequest): 'identity' | 'gzip' {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding === 'identity' || encoding === 'gzip') return encoding;
  throw new StreamError('UnsupportedMediaType', 'send the lines as they are, or with gzip');
}

async function textOf(request: FastifyRequest): Promise<string> {
  const body = (request.body as Buffer | undefined) ?? Buffer.alloc(0);
  const bytes = encodingOf(request) === 'gzip' && body.length > 0 ? await unzipped(body) : body;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new StreamError('InvalidRequest', 'the body is not UTF-8');
  }
}

async function unzipped(body: Buffer): Promise<Buffer> {
  try {
    return await unzip(body, { maxOutputLength: limits.ingestBytesMax });
  } catch (error) {
    if (errorCode(error) === 'ERR_BUFFER_TOO_LARGE')
      throw new StreamError(
        'PayloadTooLarge',
        `the body is too large; at most ${formatCount(limits.ingestBytesMax)} bytes can be sent at once, unpacked`,
      );
    throw new StreamError('InvalidRequest', 'the body is not valid gzip');
  }
}

function schemaOf(workgroupIn: 'bucket' | 'db', title: string) {
  const error = z.looseObject(
    workgroupIn === 'db' ? { error: z.string() } : { code: z.string(), message: z.string() },
  );
  const described = (description: string) => ({
    description,
    content: { 'application/json': { schema: error } },
  });
  return {
    summary: `Send lines of the Influx line protocol, as to ${title}`,
    tags: ['stream'],
    querystring: z.object({
      [workgroupIn]: z.string().meta({ description: 'Workgroup' }),
      precision: z
        .string()
        .optional()
        .meta({ description: 'Unit of the times: ns (default), us, ms, s, n, u, m or h' }),
    }),
    consumes: ['text/plain'],
    body: z.string().meta({ description: 'Lines; gzip is possible' }),
    response: {
      204: z.null().meta({ description: 'All lines are stored durably' }),
      400: described('The lines that were refused; the others are stored'),
      401: described('No token, or one that is not valid'),
      403: described('The token does not allow it, or there is no such workgroup'),
      413: described('Too many lines, or too large'),
      429: described('Too many requests with this token; see Retry-After'),
      503: described('Not now; see Retry-After'),
    },
  };
}
