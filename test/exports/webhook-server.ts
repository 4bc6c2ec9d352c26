import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { bodyOf } from './s3-server.ts';

export interface WebhookServer {
  url: string;
  received: Array<{
    method: string;
    path: string;
    headers: IncomingHttpHeaders;
    body: Buffer;
    status: number;
  }>;
  /** What it answers with, in turn; then 204. */
  answers: number[];
}

export async function startWebhookServer(): Promise<WebhookServer> {
  const received: WebhookServer['received'] = [];
  const answers: number[] = [];
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request);
    const status = answers.shift() ?? 204;
    received.push({ method: request.method!, path: request.url!, headers: request.headers, body, status });
    response.writeHead(status, { Location: 'http://127.0.0.1:1/elsewhere' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?key=hidden-key`,
    received,
    answers,
  };
}
