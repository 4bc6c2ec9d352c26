import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * The name of the machine, a space, and the id of its last start. All processes that see the same files and
 * process ids get the same text.
 */
export function machineName(): string {
  try {
    return `${hostname()} ${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}`;
  } catch {
    return hostname();
  }
}

/** The name of the machine in a text of `machineName`. It stays the same when the machine starts again. */
export function hostOf(machine: string): string {
  return machine.split(' ')[0]!;
}
