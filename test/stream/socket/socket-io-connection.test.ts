import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { connectionOf } from '../../../src/stream/socket/socket-io-connection.ts';

test('a frame that the library refuses does not hold back the next one on polling', () => {
  const transport = Object.assign(new EventEmitter(), { name: 'polling', writable: true });
  const request = { socket: { cork() {}, uncork() {} } } as IncomingMessage;
  const emit = () => {
    throw new Error('refused');
  };
  const conn = Object.assign(new EventEmitter(), { transport, request });
  const connection = connectionOf({ conn, emit, disconnect() {} });
  const send = () => connection.sendFrame(new Uint8Array(), new Uint8Array(), undefined);
  expect(send).toThrow('refused');
  expect(transport.writable).toBe(true);
});
