import { Agent, createServer, request as forward, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * What happens to a request: it passes, it never arrives, its answer is lost, it arrives after the client has
 * given up, the answer is a status of the proxy although the server has done it, or there is no answer at
 * all.
 */
export type Fate = 'pass' | 'lose' | 'drop-answer' | 'late' | 'status-after' | 'hang';

/**
 * A proxy of HTTP in front of a server, for tests and benchmarks. `decide` says what happens to each request.
 * It can answer later.
 */
export async function openLossyProxy(
  target: string,
  decide: (request: { method: string; path: string }) => Fate | Promise<Fate>,
): Promise<{ endpoint: string; close: () => void }> {
  const { hostname, port } = new URL(target);
  const agent = new Agent({ keepAlive: true });
  const proxy = createServer(async (request, response) => {
    const body = await bodyOf(request).catch(() => undefined);
    if (body === undefined) return;
    const fate = await decide({ method: request.method!, path: request.url! });
    const pass = () =>
      new Promise<{ status: number; headers: IncomingMessage['headers']; bytes: Buffer }>(
        (resolve, reject) => {
          const { method, url: path, headers } = request;
          forward({ hostname, port, method, path, headers, agent }, (answer) => {
            bodyOf(answer).then(
              (bytes) => resolve({ status: answer.statusCode!, headers: answer.headers, bytes }),
              reject,
            );
          })
            .once('error', reject)
            .end(body);
        },
      );
    switch (fate) {
      case 'lose':
        request.socket.destroy();
        return;
      case 'hang':
        return;
      case 'late':
        request.socket.destroy();
        setTimeout(() => void pass().catch(() => undefined), 50);
        return;
      default: {
        const answer = await pass().catch(() => undefined);
        if (answer === undefined || fate === 'drop-answer') request.socket.destroy();
        else if (fate === 'status-after') response.writeHead(503).end();
        else response.writeHead(answer.status, answer.headers).end(answer.bytes);
      }
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    close() {
      proxy.closeAllConnections();
      proxy.close();
      agent.destroy();
    },
  };
}

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of message) parts.push(part as Buffer);
  return Buffer.concat(parts);
}
