import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { socketEvents } from '../../contract/socket-events.ts';
import type { SocketConnection } from './socket-connection.ts';
import { type EnginePacket, joinInPacket } from './socket-packet.ts';

/** A socket of socket.io, as far as it is used here. */
export interface LibrarySocket {
  emit(event: string, ...args: unknown[]): unknown;
  disconnect(close: boolean): unknown;
  conn: EventEmitter & { transport: EventEmitter & { writable: boolean }; request: IncomingMessage };
}

/** The library remembers every frame that was not acknowledged; those of subscriptions that have ended add up. */
const UNANSWERED_MAX = 512;

/** A socket of the library as the subscriptions on it see it. */
export function connectionOf(socket: LibrarySocket): SocketConnection {
  const { conn } = socket;
  const listeners = new Set<() => void>();
  let unanswered = 0;
  const onReady = () => {
    for (const listener of [...listeners]) listener();
  };
  conn.transport.on('ready', onReady);
  conn.on('upgrade', (transport: EventEmitter) => {
    transport.on('ready', onReady);
    onReady();
  });

  /** The library makes two packets of an event with bytes. Held back until both are there, they leave together. */
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
      const answered = () => {
        unanswered--;
        acknowledged?.();
      };
      const join = (packet: EnginePacket) => {
        if (packet.data === messages) joinInPacket(packet, head, messages);
      };
      conn.on('packetCreate', join);
      sendTogether(() =>
        acknowledged
          ? socket.emit(socketEvents.data, messages, answered)
          : socket.emit(socketEvents.data, messages),
      );
      conn.off('packetCreate', join);
    },
    isClear: () => conn.transport.writable,
    onClear(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    disconnect: () => {
      socket.disconnect(true);
    },
  };
}
