import { encodeCbor } from '../../src/cbor/cbor-codec.ts';
import type { Breakage, Passing, Returning } from './breaking-proxy.ts';

type Messages = Array<Record<string, unknown>>;

/** A broken server, and all rules that notice it. */
export interface Case extends Breakage {
  name: string;
  fails: string[];
}

export const answerMessages = ({ body }: Returning) => (body.messages ?? []) as Messages;
export const isBatch = ({ body }: Returning) => Array.isArray(body.messages);
export const isError = ({ status }: Returning) => status >= 400;
/** The message of the sample that breakages change. Its number is used nowhere else. */
export const ofSample = (answer: Returning) => answerMessages(answer).filter(({ msg_id }) => msg_id === 5);

/** Changes every batch. */
export const onBatch = (change: (answer: Returning, passing: Passing) => void): Breakage => ({
  response: (answer, passing) => {
    if (isBatch(answer)) change(answer, passing);
  },
});
/** Changes every message about a device. */
export const onStatus = (change: (status: Record<string, unknown>) => void): Breakage =>
  onBatch((answer) => {
    for (const message of answerMessages(answer)) if (message.table === 'devices') change(message);
  });
/** Changes every error with this code. */
export const onError = (code: string, change: (answer: Returning, passing: Passing) => void): Breakage => ({
  response: (answer, passing) => {
    if (answer.body.error === code) change(answer, passing);
  },
});
/** Changes every answer to a timestamp in the future. `newest` is the newest message that was read before. */
export const onFuture = (change: (newest: Record<string, unknown>) => object): Breakage => {
  let newest: Record<string, unknown> | undefined;
  return onBatch((answer) => {
    if (answer.body.clamped === 'future' && newest) Object.assign(answer.body, change(newest));
    newest = answerMessages(answer).at(-1) ?? newest;
  });
};
export const onQuery = (change: (query: URLSearchParams, passing: Passing) => void): Breakage => ({
  request: (passing) => change(passing.query, passing),
});
export function refuse(answer: Returning, status: number, error: string): void {
  answer.status = status;
  answer.body = { error, message: 'no', status, retryable: false };
}
export function sayUpToDate({ body, headers }: Returning, isUpToDate: boolean): void {
  body.upToDate = isUpToDate;
  headers['stream-up-to-date'] = String(isUpToDate);
}
/** Changes the offset of a query if it has one valid offset. */
export function changeOffset(query: URLSearchParams, change: (offset: bigint) => bigint): void {
  const offsets = query.getAll('offset');
  if (offsets.length === 1 && /^\d{1,19}$/.test(offsets[0]!))
    query.set('offset', String(change(BigInt(offsets[0]!))));
}
/** Replaces the first occurrence of some bytes, in hex. */
export function patch(answer: Returning, from: string, to: string): void {
  const hex = Buffer.from(encodeCbor(answer.body)).toString('hex');
  answer.bytes = Buffer.from(hex.replace(from, to), 'hex');
}
