import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy in front of a broker. A test can see and drop the acknowledgements of messages. */
export interface AckGate {
  readonly port: number;
  /** Decides what happens with each acknowledgement. The acknowledgement waits for this answer. */
  onAck: () => 'pass' | 'lose' | Promise<'pass' | 'lose'>;
  /** Ends the connections that are open. */
  cut(): void;
  close(): void;
}

/** The first byte of an acknowledgement of QoS 1, which our client writes by itself. */
const PUBACK = 0x40;

export async function startAckGate(brokerPort: number): Promise<AckGate> {
  const sockets = new Set<Socket>();
  const gate: { onAck: AckGate['onAck'] } = { onAck: () => 'pass' };
  const proxy = createServer((client) => {
    const broker = connect(brokerPort, '127.0.0.1');
    for (const socket of [client, broker]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        broker.destroy();
      });
    }
    let before: Promise<unknown> = Promise.resolve();
    client.on('data', (bytes) => {
      before = before.then(async () => {
        if (bytes[0] !== PUBACK || (await gate.onAck()) === 'pass') broker.write(bytes);
      });
    });
    broker.on('data', (bytes) => client.write(bytes));
  });
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    port: (proxy.address() as AddressInfo).port,
    get onAck() {
      return gate.onAck;
    },
    set onAck(value) {
      gate.onAck = value;
    },
    cut,
    close() {
      proxy.close();
      cut();
    },
  };
}
