import { readFileSync } from 'node:fs';
import { formatInstant, SECOND_MS, type UtcMs } from './time.ts';

/** The facts of the system about a process of this machine. */
interface ProcessFacts {
  /** True if it was stopped by a signal (SIGSTOP, Ctrl-Z). It keeps its locks, and answers nothing. */
  isStopped: boolean;
  startedAtMs: UtcMs | undefined;
}

/** Clock ticks in a second, as Linux shows them to programs. */
const TICKS_PER_SECOND = 100;

/** Undefined if there is no such process, or no `/proc`. */
export function processFacts(pid: number): ProcessFacts | undefined {
  try {
    // The name of the program is in parentheses and may contain spaces.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
    const bootSeconds = /^btime (\d+)$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1];
    const startSeconds = Number(fields[19]) / TICKS_PER_SECOND;
    return {
      isStopped: fields[0] === 'T' || fields[0] === 't',
      startedAtMs: bootSeconds === undefined ? undefined : (Number(bootSeconds) + startSeconds) * SECOND_MS,
    };
  } catch {
    return undefined;
  }
}

/** Text about a process: its id, when it was started, and what to do if a signal has stopped it. */
export function describeProcess(pid: number, program?: string): string {
  const facts = processFacts(pid);
  const name = `process ${pid}${program ? ` (${program})` : ''}`;
  const since = facts?.startedAtMs === undefined ? '' : `, started at ${formatInstant(facts.startedAtMs)}`;
  const stopped = facts?.isStopped
    ? `, which is stopped and keeps its locks: continue it with "kill -CONT ${pid}", or end it with "kill -KILL ${pid}"`
    : '';
  return `${name}${since}${stopped}`;
}
