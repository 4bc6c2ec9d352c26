import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import type { Service } from '../../service/service.ts';
import type { Terminal } from '../../service/terminal.ts';
import { runService } from '../run-service.ts';

export function addWorkerCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('worker')
    .description('run only the pipeline: poll, land, roll up, publish')
    .addHelpText('after', help)
    .action(() => runService(command, terminal, runWorker));
}

/** Works on the shards that are this worker's until `service.signal` aborts. */
async function runWorker(config: Config, service: Service): Promise<void> {
  const { runRoles } = await import('../../service/start-roles.ts');
  await runRoles(config, ['worker'], service);
}

const help = `
With queue.backend: redis several workers share the workgroups. With the embedded queue only one worker can run.
A worker reads the upstream of a workgroup, or else the stream of its own machine ("wattline stream", at http.streamPort).

Examples:
  wattline worker
  WATTLINE_QUEUE_BACKEND=redis WATTLINE_REDIS_URL=redis://queue:6379 wattline worker`;
