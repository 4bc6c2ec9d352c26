import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import type { Service } from '../../service/service.ts';
import type { Terminal } from '../../service/terminal.ts';
import { addListenOptions, type ListenOptions, listenOn } from '../listen-options.ts';
import { runService } from '../run-service.ts';

export function addStreamCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('stream')
    .description('run only the real-time stream: ingest and reading')
    .addHelpText('after', help);
  addListenOptions(command).action((options: ListenOptions) =>
    runService(command, terminal, (config, service) =>
      runStream(listenOn(config, 'streamPort', options), service),
    ),
  );
}

/** Serves the stream until `service.signal` aborts. */
async function runStream(config: Config, service: Service): Promise<void> {
  const { runRoles } = await import('../../service/start-roles.ts');
  await runRoles({ ...config, http: { ...config.http, port: config.http.streamPort } }, ['stream'], service);
}

const help = `
With stream.log: redis, several processes can serve one stream, and each serves all messages. Otherwise only one process can.

Examples:
  wattline stream
  wattline stream --host 0.0.0.0 --port 8080
  WATTLINE_STREAM_LOG=redis WATTLINE_STREAM_REDIS_URL=redis://streams:6379 wattline stream`;
