import { bigintAsText } from '../lib/json-text.ts';

/** Only processes on this machine can connect. */
export const CONTROL_HOST = '127.0.0.1';
/** Identifies our server, because another program may listen on the port of a dead process. */
export const CONTROL_HEADER = 'wattline-control';
/** An operation without effect, to check that the owner answers. */
export const PING = 'ping';

/** With the value `no`, a workgroup that hibernates is not opened for the request. */
export const WAKE_HEADER = 'wattline-wake';
/** The error of a workgroup that hibernates. */
export const HIBERNATED = { code: 'Hibernated', message: 'the workgroup hibernates' } as const;

/** A value after it was sent as JSON. A bigint becomes text. */
export type AsJson<Value> = Value extends bigint
  ? string
  : Value extends object
    ? { [Key in keyof Value]: AsJson<Value[Key]> }
    : Value;

export function answerText(value: unknown): string {
  return JSON.stringify(value, bigintAsText);
}
