import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { socketEvents } from '../../contract/socket-events.ts';
import { createInTurn } from '../../lib/in-turn.ts';
import type { SocketConnection } from './socket-connection.ts';
import { type EnginePacket, joinInPacket } from './socket-packet.ts';

/** The part of a socket.io socket that is used here. */
interface LibrarySocket {
  emit(event: string, ...args: unknown[]): unknown;
  disconnect(close: boolean): unknown;
  conn: EventEmitter & { transport: EventEmitter & { writable: boolean }; request: IncomingMessage };
}

/** socket.io keeps every frame without an acknowledgement, even if its subscription has ended. */
const UNANSWERED_MAX = 512;

/** Wraps a socket of socket.io for its subscriptions. */
export function connectionOf(socket: LibrarySocket): SocketConnection {
  const { conn } = socket;
  const listeners = new Set<() => void>();
  let unanswered = 0;
  const onReady = () => {
    const [first, ...others] = listeners;
    if (first === undefined) return;
    // The first subscription can fill the connection again. It comes last the next time, so each one gets its
    // part.
    listeners.delete(first);
    listeners.add(first);
    for (const listener of [first, ...others]) listener();
  };
  conn.transport.on('ready', onReady);
  conn.on('upgrade', (transport: EventEmitter) => {
    transport.on('ready', onReady);
    onReady();
  });

  /**
   * socket.io makes two packets of an event with bytes. They are held back until both exist. Then they are
   * sent together.
   */
  const sendTogether = (emit: () => void) => {
    const { transport, request } = conn;
    const { writable } = transport;
    transport.writable = false;
    emit();
    transport.writable = writable;
    request.socket.cork();
    if (writable) transport.emit('ready');
    request.socket.uncork();
  };

  return {
    acknowledges: undefined,
    emit: (event, payload) => {
      socket.emit(event, payload);
    },
    sendFrame(head, messages, acknowledged) {
      if (acknowledged && ++unanswered > UNANSWERED_MAX) this.acknowledges = false;
      const onAnswer = () => {
        unanswered--;
        acknowledged?.();
      };
      const join = (packet: EnginePacket) => {
        if (packet.data === messages) joinInPacket(packet, head, messages);
      };
      conn.on('packetCreate', join);
      sendTogether(() =>
        acknowledged
          ? socket.emit(socketEvents.data, messages, onAnswer)
          : socket.emit(socketEvents.data, messages),
      );
      conn.off('packetCreate', join);
    },
    isClear: () => conn.transport.writable,
    inTurn: createInTurn(),
    onClear(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    disconnect: () => {
      socket.disconnect(true);
    },
  };
}
