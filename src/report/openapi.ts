import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type RouteOptions,
} from 'fastify';
import { jsonSchemaTransform } from 'fastify-type-provider-zod';
import { type KeptFile, keepFile, sendKeptFile } from '../http/kept-file.ts';
import { openOnce } from '../lib/open-once.ts';

/**
 * Swagger's default policy upgrades requests to HTTPS, which breaks the page on plain HTTP from another host.
 */
const POLICY = {
  'default-src': "'self'",
  'base-uri': "'self'",
  'frame-ancestors': "'self'",
  'img-src': "'self' data:",
  'object-src': "'none'",
};

/**
 * Describes all routes that are registered after it: OpenAPI 3.1 at /openapi.json, and a page at /docs that
 * loads nothing from other hosts. Both are made at the first request. Otherwise each start would load a
 * hundred files for them.
 */
export function registerOpenApi(app: FastifyInstance, options: { version: string }): void {
  const routes: RouteOptions[] = [];
  app.addHook('onRoute', (route) => {
    if (!isHidden(route)) routes.push(route);
  });
  const pages = openOnce(() => createPages(routes, options.version));
  app.addHook('onClose', async () => (await pages.ifOpened())?.close());
  const keptFiles = new Map<string, Promise<KeptFile | undefined>>();
  /** @returns undefined if there is no such file */
  const fileAt = (path: string) => {
    const known = keptFiles.get(path);
    if (known !== undefined) return known;
    const file = pages.get().then((of) => readPage(of, path));
    keptFiles.set(path, file);
    // Only existing files are kept, so that other addresses take no memory.
    const forget = () => keptFiles.delete(path);
    file.then((found) => found ?? forget(), forget);
    return file;
  };
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    const [path = ''] = request.url.split('?');
    const file = PLAIN_PATH.test(path) ? await fileAt(path) : undefined;
    return file === undefined ? reply.callNotFound() : sendKeptFile(request, reply, file);
  };
  for (const url of ['/openapi.json', '/docs', '/docs/*']) app.get(url, { schema: { hide: true } }, answer);
}

/**
 * Only addresses of this form are answered, so that each file has one address. With others, such as
 * `/docs/./static/x`, one file could have any number of addresses, and each would take memory.
 */
const PLAIN_PATH = /^(?:\/\w[\w.-]*)+\/?$/;
const KEPT_HEADERS = ['cache-control', 'content-security-policy', 'content-type'];

async function readPage(pages: FastifyInstance, path: string): Promise<KeptFile | undefined> {
  const { statusCode, headers, rawPayload } = await pages.inject(path);
  if (statusCode !== 200) return undefined;
  const sentHeaders = KEPT_HEADERS.filter((name) => headers[name] !== undefined);
  return keepFile(rawPayload, Object.fromEntries(sentHeaders.map((name) => [name, String(headers[name])])));
}

function isHidden({ schema }: RouteOptions): boolean {
  return schema !== undefined && 'hide' in schema && schema.hide === true;
}

/** A server that never listens. It knows the routes, and describes them. */
async function createPages(routes: readonly RouteOptions[], version: string): Promise<FastifyInstance> {
  const { default: swagger } = await import('@fastify/swagger');
  const { default: swaggerUi } = await import('@fastify/swagger-ui');
  const pages = Fastify({ exposeHeadRoutes: false });
  await pages.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Wattline',
        version,
        license: { name: 'MIT', identifier: 'MIT' },
        description:
          'Energy report endpoints and the real-time data stream of a workgroup. The stream answers in CBOR, errors included; the report in JSON. The stream can also be followed over socket.io, see docs/stream.md. Requests below /api/v1/orgs refuse query parameters that are not described here.',
      },
      servers: [{ url: '/' }],
      tags: [
        { name: 'report', description: 'Energy over the published data' },
        { name: 'operate', description: 'The state of the pipeline, and actions of operators' },
        { name: 'stream', description: 'The latest messages, in the order in which they were stored' },
      ],
      components: {
        securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'API token' } },
      },
      security: [{ token: [] }],
    },
    transformObject: (found) =>
      withoutLargestIntegers('openapiObject' in found ? found.openapiObject : found.swaggerObject),
    transform: (route) => {
      const { schema, url } = jsonSchemaTransform(route);
      const { method } = route.route;
      return {
        schema: { operationId: operationId(String(method), url), ...schema, ...describedAnswers(schema) },
        url,
      };
    },
  });
  await pages.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: POLICY,
    theme: { title: 'Wattline API' },
    // The page has no bar of Swagger.
    uiConfig: { layout: 'BaseLayout', deepLinking: false, tryItOutEnabled: true, validatorUrl: null },
  });
  pages.get('/openapi.json', { schema: { hide: true } }, (_request, reply) =>
    reply.header('Cache-Control', 'no-cache').send(pages.swagger()),
  );
  // This server only describes the routes. It never calls them.
  pages.setValidatorCompiler(() => () => true);
  pages.setSerializerCompiler(() => () => '');
  for (const { method, url, schema } of routes)
    if (method !== 'HEAD') pages.route({ method, url, ...(schema && { schema }), handler: () => undefined });
  await pages.ready();
  return pages;
}

/**
 * Leaves out limits that are only the largest integers of JavaScript, because pages and generators would use
 * them as examples.
 */
function withoutLargestIntegers<Document extends object>(document: Document): Document {
  const isLargest = (value: unknown) =>
    value === Number.MIN_SAFE_INTEGER || value === Number.MAX_SAFE_INTEGER;
  const text = JSON.stringify(document);
  return JSON.parse(text, (name, value) =>
    (name === 'minimum' || name === 'maximum') && isLargest(value) ? undefined : value,
  );
}

/**
 * Descriptions of errors without a special description. A success without a description has the summary of
 * its route.
 */
const errorDescriptions: Readonly<Record<string, string>> = {
  400: 'A parameter or the body has a value that cannot be used; `parameter` names it',
  401: 'No token, or a token that is not valid',
  403: 'The token does not allow it, or there is no such workgroup',
  404: 'It does not exist, or the token may not see it',
  409: 'It contradicts the present state',
  413: 'The body is too large; the message has the limit',
  415: 'Another content type is expected',
  429: 'Too many requests; see Retry-After',
  503: 'Not now; see Retry-After',
};

function describedAnswers({ response, summary = 'The answer' }: { response?: unknown; summary?: string }) {
  if (response === undefined) return {};
  const described = Object.entries(response as Record<string, { description?: string }>).map(
    ([code, answer]) => {
      const { description = errorDescriptions[code] ?? summary } = answer;
      return [code, { ...answer, description }];
    },
  );
  return { response: Object.fromEntries(described) };
}

/**
 * The name of a request in generated clients, such as getDailyEnergyDetails: the method and the words of the
 * path.
 */
function operationId(method: string, url: string): string {
  const words = url
    .replace(/^\/api\/v1\/(?:orgs|tables)\//, '')
    .split('/')
    .filter((part) => !part.startsWith(':'))
    .flatMap((part) => part.split('-'));
  return [
    method.toLowerCase(),
    ...words.map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`),
  ].join('');
}
