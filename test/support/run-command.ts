import { main } from '../../src/cli/main.ts';
import { processEnvironment } from './process-environment.ts';
import type { CliResult } from './run-cli.ts';

/**
 * Runs a command inside this process, which takes a fifth of the CPU of a separate process (`runCli`).
 * `stderr` has its messages, but not its log events.
 * @param options.run another program than the command line
 */
export async function runCommand(
  args: readonly string[],
  { cwd, environment, run = main }: { cwd: string; environment?: Record<string, string>; run?: typeof main },
): Promise<CliResult> {
  let stdout = '';
  let stderr = '';
  const code = await run(args, {
    cwd,
    environment: processEnvironment(environment),
    isInteractive: false,
    out: (text) => {
      stdout += text;
    },
    err: (text) => {
      stderr += text;
    },
    onEnd: () => () => undefined,
    onReload: () => () => undefined,
    kill: (signal) => {
      throw new Error(`the command would end its process with ${signal}`);
    },
  });
  return { code, stdout, stderr };
}
