import { compiledFolder } from './compiled-folder.ts';

const SERVICES: ReadonlySet<string> = new Set(['up', 'stream', 'worker', 'report', 'demo']);
/** With one for each thread, a service had 50 MB more after an hour. */
const ARENAS_MAX = '2';

/**
 * Starts the program again in this same process with a bound for glibc's allocator, if the command runs for long. By default glibc gives each thread an arena of its own. DuckDB allocates
 * on one thread and frees on another, so the arenas keep memory that nobody uses, and a service grows for hours. The bound can only be set before a process starts.
 * Node keeps the compiled code of such a command, which saves a third of the CPU time of its next start. `NODE_COMPILE_CACHE` names another folder.
 * Does nothing if `MALLOC_ARENA_MAX` is set, outside Linux, or if a parent process talks to this one.
 */
export function boundAllocator(args: readonly string[]): void {
  if (process.platform !== 'linux' || process.env.MALLOC_ARENA_MAX !== undefined) return;
  if (process.connected || process.execve === undefined || !args.some((arg) => SERVICES.has(arg))) return;
  const command = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const compiled = process.env.NODE_COMPILE_CACHE ?? compiledFolder(process.env.XDG_CACHE_HOME);
  process.execve(process.execPath, command, {
    ...process.env,
    MALLOC_ARENA_MAX: ARENAS_MAX,
    ...(compiled !== undefined && { NODE_COMPILE_CACHE: compiled }),
  });
}
