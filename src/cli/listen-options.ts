import { type Command, InvalidArgumentError } from 'commander';
import type { Config } from '../config/config.ts';

export interface ListenOptions {
  host?: string;
  port?: number;
}

/** Options of the commands that serve HTTP. */
export function addListenOptions(command: Command): Command {
  return command
    .option('--host <address>', 'the address to listen on, instead of the configured one')
    .option(
      '--port <number>',
      'the port to listen on, instead of the configured one; 0 takes a free one',
      parsePort,
    );
}

/** The configuration with what the command line says above it. */
export function listenOn(
  config: Config,
  portName: 'port' | 'streamPort' | 'reportPort',
  options: ListenOptions,
): Config {
  const { host = config.http.host, port = config.http[portName] } = options;
  return { ...config, http: { ...config.http, host, [portName]: port } };
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535)
    throw new InvalidArgumentError('Use a number from 0 to 65535.');
  return port;
}
