import type { Command } from 'commander';
import type { Terminal } from '../../service/terminal.ts';
import type { DoctorOptions } from './run-doctor.ts';

export function addDoctorCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('doctor')
    .description('look for the reason if a service does not work as you expect')
    .option('--bundle <file>', 'write a JSON file for somebody who helps you, without secrets')
    .option('--log <file>', 'with --bundle: add the last lines of this log')
    .addHelpText('after', help)
    .action(async (options: DoctorOptions) => {
      const { runDoctor } = await import('./run-doctor.ts');
      await runDoctor(command, terminal, options);
    });
}

const help = `
Prints one line for each check: "ok", "warning" or "problem", the finding, and what to do next. It looks at the
configuration, the data folder, Redis, the buckets, the clock, the ports, the upstreams, the MQTT brokers, the mail server, the receivers of alerts,
the destinations of exports, the certificates of all these, the keys and tokens, files with secrets, versions, the processes of this machine, and the
state of all workgroups. A check that gets no answer for 10 s is a problem, and the others continue. Run it on the machine of the service and as
its user.

It changes nothing. It writes a small file into the data folder and a small object into the buckets of storage and backup, and removes them. It signs
in at brokers, mail servers and Home Assistant, and sends neither a message nor a file.

The exit code is 4 if there is a problem, and 0 if there are only warnings.

--bundle writes one JSON file, which only you can read, with the findings, the configuration without secrets, versions, the state of all
processes and workgroups, and the sizes of the data folder. It has the names of workgroups, sites and devices, because problems name them. It has
no readings and no energy. --log adds the last 500 lines of a file. Read the file before you send it.

Examples:
  wattline doctor
  wattline doctor --json | jq '.[] | select(.state != "ok")'
  journalctl -u wattline -n 500 > log.txt; wattline doctor --bundle help.json --log log.txt`;
