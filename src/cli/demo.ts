import type { Command } from 'commander';
import { addListenOptions, type ListenOptions } from './listen-options.ts';
import { notAvailable, runWithoutConfig, type Service } from './service.ts';
import type { Terminal } from './terminal.ts';

export function addDemoCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('demo')
    .description('show the whole way on a simulated site, without any configuration')
    .addHelpText('after', help);
  addListenOptions(command).action((options: ListenOptions) =>
    runWithoutConfig(command, terminal, (service) => runDemo(options, service)),
  );
}

/** Runs everything on a simulated site until `service.signal` aborts. */
export async function runDemo(_options: ListenOptions, _service: Service): Promise<void> {
  throw notAvailable('demo');
}

const help = `
Examples:
  wattline demo
  wattline demo --port 9000`;
