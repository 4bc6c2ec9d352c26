import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { createForwardingLogger } from '../../src/lib/logger.ts';
import { watchOutage } from '../../src/redis/watch-outage.ts';

function setUp() {
  const connection = new EventEmitter();
  const events: unknown[] = [];
  const logger = createForwardingLogger((line) => {
    const { level, msg, host, error } = JSON.parse(line);
    events.push([level, msg, host, ...(error === undefined ? [] : [error])]);
  });
  return { connection, events, outage: watchOutage(connection, 'redis:6379', 'queue', logger) };
}

test('an outage is logged once when it begins, with its reason, and once when it ends', () => {
  const { connection, events, outage } = setUp();
  outage.begin();
  expect(outage.isWatched()).toBe(true);
  for (let attempt = 0; attempt < 3; attempt++) {
    connection.emit('error', new Error('connect ECONNREFUSED'));
    connection.emit('close');
  }
  expect(outage.lastProblem()).toBe('connect ECONNREFUSED');
  connection.emit('ready');
  connection.emit('ready');
  expect(outage.lastProblem()).toBeUndefined();
  connection.emit('close');
  expect(events).toEqual([
    ['error', 'queue.redis-unreachable', 'redis:6379', 'connect ECONNREFUSED'],
    ['info', 'queue.redis-reachable', 'redis:6379'],
    ['error', 'queue.redis-unreachable', 'redis:6379', 'the connection closed'],
  ]);
});

test('before the first connection and after the end nothing is logged', () => {
  const { connection, events, outage } = setUp();
  connection.emit('close');
  connection.emit('ready');
  outage.begin();
  outage.end();
  expect(outage.isWatched()).toBe(false);
  connection.emit('close');
  connection.emit('ready');
  expect(events).toEqual([]);
});
