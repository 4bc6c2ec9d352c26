import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import type { Service } from '../../service/service.ts';
import type { Terminal } from '../../service/terminal.ts';
import { addListenOptions, type ListenOptions, listenOn } from '../listen-options.ts';
import { runService } from '../run-service.ts';

export function addReportCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('report')
    .description('run only the reports, on a published lake')
    .addHelpText('after', help);
  addListenOptions(command).action((options: ListenOptions) =>
    runService(command, terminal, (config, service) =>
      runReport(listenOn(config, 'reportPort', options), service),
    ),
  );
}

/** Serves the reports until `service.signal` aborts. */
async function runReport(config: Config, service: Service): Promise<void> {
  const { runRoles } = await import('../../service/start-roles.ts');
  await runRoles({ ...config, http: { ...config.http, port: config.http.reportPort } }, ['report'], service);
}

const help = `
Examples:
  wattline report
  wattline report --host 0.0.0.0 --port 8080`;
