import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Agent, request as send } from 'undici';
import { decodeCbor, encodeCbor } from '../../src/cbor/cbor-codec.ts';
import { attachBreakingSocket, type SocketBreakage } from './breaking-socket.ts';

/** A request on its way to the server. */
export interface Passing {
  method: string;
  workgroup: string;
  table: string;
  query: URLSearchParams;
  headers: Record<string, string>;
  body: Buffer;
}

/** An answer on its way back. */
export interface Returning {
  status: number;
  headers: Record<string, string>;
  body: Record<string, unknown>;
  /** Sent instead of `body`, if given. */
  bytes?: Uint8Array;
}

/** A defect of a server: how it changes requests and answers. */
export interface Breakage extends SocketBreakage {
  request?(passing: Passing): void;
  response?(
    answer: Returning,
    passing: Passing,
    forward: (passing: Passing) => Promise<Returning>,
  ): void | Promise<void>;
}

/** Starts a proxy that makes a correct server broken in one way. */
export async function startBreakingProxy(upstream: string, breakage: Breakage) {
  const agent = new Agent({ connections: 8 });
  const forward = async ({ method, workgroup, table, query, headers, body }: Passing): Promise<Returning> => {
    const end = method === 'POST' ? 'messages' : 'latest';
    const search = query.size > 0 ? `?${query}` : '';
    const answer = await send(`${upstream}/api/v1/tables/${workgroup}/${table}/${end}${search}`, {
      dispatcher: agent,
      method: method as 'GET',
      headers,
      ...(method === 'POST' && { body }),
    });
    const bytes = Buffer.from(await answer.body.arrayBuffer());
    return {
      status: answer.statusCode,
      headers: Object.fromEntries(
        Object.entries(answer.headers).map(([name, value]) => [name, String(value)]),
      ),
      body: decodeCbor(bytes) as Record<string, unknown>,
    };
  };
  const server = createServer(async (incoming, outgoing) => {
    const url = new URL(incoming.url!, upstream);
    const [, , , , workgroup, table] = url.pathname.split('/');
    const { authorization, prefer, 'content-type': type } = incoming.headers;
    const passing: Passing = {
      method: incoming.method!,
      workgroup: workgroup!,
      table: table!,
      query: url.searchParams,
      headers: {
        ...(authorization !== undefined && { authorization }),
        ...(prefer !== undefined && { prefer: String(prefer) }),
        ...(type !== undefined && { 'content-type': type }),
      },
      body: await buffer(incoming),
    };
    const asked = { ...passing, query: new URLSearchParams(passing.query), headers: { ...passing.headers } };
    breakage.request?.(passing);
    const answer = await forward(passing);
    await breakage.response?.(answer, asked, forward);
    const bytes = answer.bytes ?? encodeCbor(answer.body);
    outgoing
      .writeHead(answer.status, { ...answer.headers, 'content-length': String(bytes.length) })
      .end(bytes);
  });
  const sockets = attachBreakingSocket(server, upstream, breakage);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      await sockets.close();
      server.closeAllConnections();
      await agent.destroy();
    },
  };
}
