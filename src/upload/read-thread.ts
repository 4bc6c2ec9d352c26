import { parentPort } from 'node:worker_threads';
import { type BodyAnswer, type BodyRequest, readBody } from './body-reader.ts';

/**
 * This module runs in a thread. It reads large uploads one after another, so that the event loop is not
 * blocked.
 */
parentPort!.on('message', (request: BodyRequest) => {
  parentPort!.postMessage(readBody(request) satisfies BodyAnswer);
});
