import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import { runService, type Service } from '../../service/run-service.ts';
import { addListenOptions, type ListenOptions, listenOn } from '../listen-options.ts';
import type { Terminal } from '../terminal/terminal.ts';

export function addUpCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('up')
    .description('run everything in one process: the stream, the pipeline and the reports')
    .addHelpText('after', help);
  addListenOptions(command).action((options: ListenOptions) =>
    runService(command, terminal, (config, service) => runUp(listenOn(config, 'port', options), service)),
  );
}

/** Runs stream, worker and report in this process until `service.signal` aborts. */
export async function runUp(config: Config, service: Service): Promise<void> {
  const { runRoles } = await import('../../service/start-roles.ts');
  await runRoles(config, ['stream', 'worker', 'report'], service);
}

const help = `
Ctrl-C or SIGTERM ends it within 20 s; a second one ends it at once.

Examples:
  wattline up
  wattline up --config site.yaml --port 9000`;
