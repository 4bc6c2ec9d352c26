import { bigintAsText } from '../lib/json-text.ts';

/** Who does not run on this machine cannot ask. */
export const CONTROL_HOST = '127.0.0.1';
/** Says that it is one of ours that answers, and not what happens to listen on the port of one that has died. */
export const CONTROL_HEADER = 'wattline-control';
/** Asks for nothing: whoever has the warehouse open answers. */
export const PING = 'ping';

/** A value as it arrives on the other side: JSON, in which a bigint is its decimal digits. */
export type Told<Value> = Value extends bigint
  ? string
  : Value extends object
    ? { [Key in keyof Value]: Told<Value[Key]> }
    : Value;

export function tell(value: unknown): string {
  return JSON.stringify(value, bigintAsText);
}
