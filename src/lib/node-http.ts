import { createRequire } from 'node:module';

const http: typeof import('node:http') = createRequire(import.meta.url)('node:http');

/**
 * Parts of `node:http`. An `import` of it makes Node load its client for WebSockets, too, which takes 40 ms
 * of the processor at each start of a service or a command.
 */
export const { createServer, request, STATUS_CODES } = http;
