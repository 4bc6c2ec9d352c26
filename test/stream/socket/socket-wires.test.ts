import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { createSocketWires } from '../../../src/stream/socket/socket-wires.ts';

function requestWith(upgrade?: string): IncomingMessage {
  const request = new IncomingMessage(new Socket());
  if (upgrade !== undefined) request.headers.upgrade = upgrade;
  return request;
}

test('a connection that opened as a WebSocket is that of its first request', () => {
  const opening = requestWith('WebSocket');
  expect(createSocketWires().find('a', opening)).toBe(opening.socket);
});

test('a client that polls has no connection of its own, until it opens a WebSocket', () => {
  const wires = createSocketWires();
  const opening = requestWith();
  const upgrade = requestWith('websocket');
  for (const request of [opening, requestWith('h2c')]) wires.note('a', request);
  expect(wires.find('a', opening)).toBeUndefined();
  wires.note('a', upgrade);
  wires.note('b', requestWith('websocket'));
  expect(wires.find('a', opening)).toBe(upgrade.socket);
  wires.forget('a');
  expect(wires.find('a', opening)).toBeUndefined();
});
