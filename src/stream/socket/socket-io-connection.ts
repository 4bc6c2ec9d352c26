import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { socketEvents } from '../../contract/socket-events.ts';
import { createInTurn } from '../../lib/in-turn.ts';
import { MEBIBYTE } from '../../lib/units.ts';
import type { SocketConnection } from './socket-connection.ts';
import { type EnginePacket, joinInPacket } from './socket-packet.ts';

/** The part of a socket.io socket that is used here. */
interface LibrarySocket {
  emit(event: string, ...args: unknown[]): unknown;
  disconnect(close: boolean): unknown;
  conn: EventEmitter & {
    transport: EventEmitter & { name: string; writable: boolean };
    request: IncomingMessage;
  };
}

/**
 * socket.io keeps each frame until it is acknowledged, even if its subscription has ended. This limits the
 * number of such frames.
 */
const UNANSWERED_MAX = 512;

/** The maximum number of frames that are sent together. */
const FRAMES_TOGETHER_MAX = 4;
/** If the held frames have this many bytes, no further frame is added. */
const BYTES_TOGETHER_MAX = MEBIBYTE / 2;

/** Wraps a socket of socket.io for its subscriptions. */
export function connectionOf(socket: LibrarySocket): SocketConnection {
  const { conn } = socket;
  const listeners = new Set<() => void>();
  let unanswered = 0;
  const onReady = () => {
    const [first, ...others] = listeners;
    if (first === undefined) return;
    // The first subscription can fill the connection again, so that the others send nothing. So it comes last
    // the next time, and each one gets its part.
    listeners.delete(first);
    listeners.add(first);
    for (const listener of [first, ...others]) listener();
  };
  conn.transport.on('ready', onReady);
  conn.on('upgrade', (transport: EventEmitter) => {
    transport.on('ready', onReady);
    onReady();
  });

  /** The packets that are held back now, to be sent together. */
  let held: { frames: number; bytes: number } | undefined;

  /**
   * Each packet that is sent at once costs a call of the operating system, and socket.io makes two packets of
   * a frame. So packets are held back and sent together: on a WebSocket the packets of one turn of the event
   * loop, and on polling the packets of one frame. A request of polling can end before the next turn.
   * `writable` and `ready` of a transport are not documented, so package.json has an exact version of
   * socket.io.
   */
  const hold = (emit: () => void) => {
    const { transport, request } = conn;
    if (held || !transport.writable) return emit();
    held = { frames: 0, bytes: 0 };
    transport.writable = false;
    const release = () => {
      held = undefined;
      transport.writable = true;
      request.socket.cork();
      transport.emit('ready');
      request.socket.uncork();
    };
    if (transport.name === 'websocket') setImmediate(release);
    try {
      emit();
    } finally {
      if (transport.name !== 'websocket') release();
    }
  };

  return {
    acknowledges: undefined,
    emit: (event, payload) => {
      socket.emit(event, payload);
    },
    sendFrame(head, messages, onAcknowledged) {
      if (onAcknowledged && ++unanswered > UNANSWERED_MAX) this.acknowledges = false;
      const onAnswer = () => {
        unanswered--;
        onAcknowledged?.();
      };
      const join = (packet: EnginePacket) => {
        if (packet.data === messages) joinInPacket(packet, head, messages);
      };
      hold(() => {
        if (held) {
          held.frames++;
          held.bytes += messages.length;
        }
        conn.on('packetCreate', join);
        if (onAcknowledged) socket.emit(socketEvents.data, messages, onAnswer);
        else socket.emit(socketEvents.data, messages);
        conn.off('packetCreate', join);
      });
    },
    isClear: () =>
      conn.transport.writable ||
      (held !== undefined && held.frames < FRAMES_TOGETHER_MAX && held.bytes < BYTES_TOGETHER_MAX),
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
