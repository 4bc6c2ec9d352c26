import { parentPort } from 'node:worker_threads';
import { StreamError } from '../../contract/stream-errors.ts';
import type { ThreadAnswer } from './body-encoder.ts';
import { encodeBody, type IngestRequest } from './encode-body.ts';

/**
 * This module runs in a thread. It encodes large bodies one after another, so that the event loop is not
 * blocked.
 */
function answerTo(request: IngestRequest): ThreadAnswer {
  try {
    const { bytes, starts, tables, devices, count } = encodeBody(request);
    return { kind: 'batch', bytes, starts, table: tables[0]!, devices, count };
  } catch (error) {
    if (!(error instanceof StreamError)) throw error;
    const { code, message, details } = error;
    return { kind: 'refused', code, message, details };
  }
}

parentPort!.on('message', (request: IngestRequest) => {
  const answer = answerTo(request);
  const transferred =
    answer.kind === 'batch' ? [answer.bytes.buffer as ArrayBuffer, answer.starts.buffer as ArrayBuffer] : [];
  parentPort!.postMessage(answer, transferred);
});
