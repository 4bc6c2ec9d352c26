import { userInfo } from 'node:os';

/** The user of this machine, as the actor of commands. */
export function localActor(): string {
  try {
    return `local:${userInfo().username}`;
  } catch {
    // In a container the user may have no name.
    return `local:${process.getuid?.() ?? 'unknown'}`;
  }
}
