import type { EventEmitter } from 'node:events';
import { errorMessage } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { RedisUse } from './redis-settings.ts';

/** Logs an outage once when it begins and once when it ends. */
export function watchOutage(connection: EventEmitter, host: string, use: RedisUse, logger: Logger) {
  let state: 'not-watched' | 'reachable' | 'unreachable' = 'not-watched';
  let lastProblem: string | undefined;
  connection.on('error', (error) => {
    lastProblem = errorMessage(error);
  });
  connection.on('close', () => {
    if (state !== 'reachable') return;
    state = 'unreachable';
    logger.error({ host, error: lastProblem ?? 'the connection closed' }, `${use}.redis-unreachable`);
  });
  connection.on('ready', () => {
    lastProblem = undefined;
    if (state !== 'unreachable') return;
    state = 'reachable';
    logger.info({ host }, `${use}.redis-reachable`);
  });
  return {
    begin: () => {
      state = 'reachable';
    },
    end: () => {
      state = 'not-watched';
    },
    isWatched: () => state !== 'not-watched',
    lastProblem: () => lastProblem,
  };
}
