import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import type { Service } from '../../service/service.ts';
import type { Terminal } from '../../service/terminal.ts';
import { addListenOptions, type ListenOptions, listenOn } from '../listen-options.ts';
import { runService } from '../run-service.ts';

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
async function runUp(config: Config, service: Service): Promise<void> {
  const { runRoles } = await import('../../service/start-roles.ts');
  await runRoles(config, ['stream', 'worker', 'report'], service);
}

const help = `
Ctrl-C or SIGTERM stops the service within 20 s. A second one stops it at once.

Examples:
  wattline up
  wattline up --config site.yaml --port 9000`;
