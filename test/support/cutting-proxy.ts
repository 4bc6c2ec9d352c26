import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy in front of a server that can lose answers, like a network. */
export interface CuttingProxy {
  readonly port: number;
  /** How many connections it has cut at their begin. */
  readonly refused: number;
  /**
   * Passes the next request with this text on, and then cuts its connection before the answer.
   * @returns resolves when the connection is cut
   */
  loseAnswerTo(text: string): Promise<void>;
  /** Cuts every connection. It also cuts new ones until `mend` is called. */
  cut(): void;
  /** Cuts every connection if this text was sent on it, or is sent before `mend` is called. */
  block(text: string): void;
  mend(): void;
  close(): void;
}

export async function startCuttingProxy(serverPort: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let trap: { text: string; sprung: () => void } | undefined;
  let isCut = false;
  let refused = 0;
  let blocked: string | undefined;
  /** The first bytes that each client has sent. */
  const beginnings = new Map<Socket, string>();
  const proxy = createServer((client) => {
    if (isCut) {
      refused += 1;
      client.destroy();
      return;
    }
    const server = connect(serverPort, '127.0.0.1');
    let losing: (() => void) | undefined;
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        beginnings.delete(client);
        client.destroy();
        server.destroy();
      });
    }
    client.on('data', (bytes) => {
      if (!beginnings.has(client)) beginnings.set(client, bytes.toString('latin1'));
      if (blocked !== undefined && bytes.includes(blocked)) return void client.destroy();
      if (trap !== undefined && bytes.includes(trap.text)) {
        losing = trap.sprung;
        trap = undefined;
      }
      server.write(bytes);
    });
    server.on('data', (bytes) => {
      if (losing === undefined) return void client.write(bytes);
      client.destroy();
      losing();
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    port: (proxy.address() as AddressInfo).port,
    get refused() {
      return refused;
    },
    loseAnswerTo: (text) =>
      new Promise((sprung) => {
        trap = { text, sprung };
      }),
    cut() {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    block(text) {
      blocked = text;
      for (const [client, beginning] of beginnings) if (beginning.includes(text)) client.destroy();
    },
    mend() {
      isCut = false;
      blocked = undefined;
    },
    close() {
      proxy.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
