import { spawn } from 'node:child_process';
import { cliFile, nodeOptions, processEnvironment } from './process-environment.ts';

export interface CliResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/**
 * Runs the command line, or another `script`, as a separate process, in `cwd`. Its environment has no
 * settings of Wattline.
 */
export async function runCli(
  args: readonly string[],
  options: { cwd: string; environment?: Record<string, string>; readBytes?: number; script?: string },
): Promise<CliResult> {
  const child = spawn(process.execPath, [...nodeOptions, options.script ?? cliFile, ...args], {
    cwd: options.cwd,
    env: processEnvironment(options.environment),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
    // Reads a little of the output and then closes it, like `head`.
    if (options.readBytes !== undefined && stdout.length >= options.readBytes) child.stdout.destroy();
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { code, stdout, stderr };
}
