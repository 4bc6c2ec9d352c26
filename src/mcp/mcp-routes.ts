import type { createMcpHandler } from '@modelcontextprotocol/server';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { bearerToken } from '../access/bearer-token.ts';
import { grantOrThrow } from '../access/check-token.ts';
import { StreamError } from '../contract/stream-errors.ts';
import { authenticationOf, rejectOtherMethods } from '../http/http-server.ts';
import type { Logger } from '../lib/logger.ts';
import { openOnce } from '../lib/open-once.ts';
import { MINUTE_MS } from '../lib/time.ts';

/** The largest body of a request. A question to a tool is far smaller. */
const MCP_BODY_BYTES_MAX = 64 * 1024;
const ANSWER_MS = MINUTE_MS;
const URL_OF_TOOLS = '/mcp';

/**
 * `POST /mcp`: the tools over HTTP, for the token of the request. Nothing is kept between requests. Each tool
 * asks the routes of the reports in this process with the same token. So the permissions, the rate limit and
 * the bounds of these routes apply, and a revoked token ends with the next request.
 * @param origins pages that may call it; a request of another page is refused, which also stops DNS rebinding
 */
export function registerMcpRoutes(
  app: FastifyInstance,
  { origins, logger }: { origins: readonly string[]; logger: Logger },
): void {
  const handler = openOnce(() => createHandler(app, logger));
  app.addHook('onClose', async () => (await handler.ifOpened())?.close());

  app.post(
    URL_OF_TOOLS,
    {
      schema: { hide: true },
      bodyLimit: MCP_BODY_BYTES_MAX,
      // This is checked before the body is read.
      onRequest: async (request) => {
        const { origin } = request.headers;
        if (origin !== undefined && !origins.includes(origin))
          throw new StreamError(
            'WorkgroupForbidden',
            'pages of this origin may not call the tools; http.corsOrigins lists the ones that may',
          );
        grantOrThrow(authenticationOf(request));
      },
    },
    async (request, reply) => {
      if (typeof request.body !== 'object' || request.body === null || Array.isArray(request.body))
        throw new StreamError('InvalidRequest', 'the body must be one JSON-RPC message');
      const disconnected = new AbortController();
      reply.raw.once('close', () => disconnected.abort());
      const answer = await (await handler.get()).fetch(webRequest(request, disconnected.signal), {
        authInfo: { token: bearerToken(request.headers.authorization)!, clientId: 'token', scopes: [] },
        parsedBody: request.body,
      });
      const type = answer.headers.get('content-type');
      if (type !== null) reply.type(type);
      return reply
        .code(answer.status)
        .header('Cache-Control', 'no-store')
        .send(await answer.text());
    },
  );
  rejectOtherMethods(app, URL_OF_TOOLS, ['POST']);
}

type Handler = ReturnType<typeof createMcpHandler>;

/** Loads the library, which a service without requests to `/mcp` does not need. */
async function createHandler(app: FastifyInstance, logger: Logger): Promise<Handler> {
  const { createMcpHandler } = await import('@modelcontextprotocol/server');
  const { createMcpServer } = await import('./create-mcp-server.ts');
  return createMcpHandler(
    ({ authInfo }) =>
      createMcpServer({
        url: 'http://127.0.0.1',
        token: authInfo!.token,
        backoff: { attemptsMax: 1 },
        fetch: (url, init) => inject(app, url, init),
      }),
    {
      keepAliveMs: 0,
      // A subscription would outlive its token.
      maxSubscriptions: 0,
      onerror: (error) => logger.debug({ err: error }, 'mcp.refused'),
    },
  );
}

function webRequest({ headers }: FastifyRequest, signal: AbortSignal): Request {
  const passed = Object.entries(headers).filter(
    ([name, value]) => typeof value === 'string' && /^(?:accept|content-type|mcp-.*)$/.test(name),
  ) as Array<[string, string]>;
  return new Request(`http://127.0.0.1${URL_OF_TOOLS}`, {
    method: 'POST',
    headers: passed,
    signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
  });
}

/** Asks a route of this process, as a request from outside would. The rate limit counts it for its token. */
async function inject(
  app: FastifyInstance,
  url: string,
  { headers, signal }: RequestInit,
): Promise<Response> {
  const { pathname, search } = new URL(url);
  const {
    statusCode,
    headers: given,
    rawPayload,
  } = await app.inject({
    method: 'GET',
    url: pathname + search,
    headers: headers as Record<string, string>,
    ...(signal && { signal }),
  });
  const texts = Object.entries(given).map(([name, value]): [string, string] => [name, String(value)]);
  return new Response(Uint8Array.from(rawPayload), { status: statusCode, headers: texts });
}
