import { type Command, InvalidArgumentError } from 'commander';
import type { Config } from '../config/config.ts';
import { parsePort } from '../lib/parse-port.ts';

export interface ListenOptions {
  host?: string;
  port?: number;
}

/** Options of commands that serve HTTP. */
export function addListenOptions(command: Command): Command {
  return command
    .option('--host <address>', 'the address to listen on (default: http.host)')
    .option('--port <number>', 'the port to listen on (default: http.port); 0 chooses a free port', readPort);
}

/** The configuration with the address and port of the command line. */
export function listenOn(
  config: Config,
  portName: 'port' | 'streamPort' | 'reportPort',
  options: ListenOptions,
): Config {
  const { host = config.http.host, port = config.http[portName] } = options;
  return { ...config, http: { ...config.http, host, [portName]: port } };
}

function readPort(text: string): number {
  const port = parsePort(text);
  if (port === undefined) throw new InvalidArgumentError('Use a number from 0 to 65535.');
  return port;
}
