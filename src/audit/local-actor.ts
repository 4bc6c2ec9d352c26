import { userInfo } from 'node:os';

/** Who works at this machine, for audit entries of what was done from its command line. */
export function localActor(): string {
  try {
    return `local:${userInfo().username}`;
  } catch {
    // A container may run as a user without a name.
    return `local:${process.getuid?.() ?? 'unknown'}`;
  }
}
