import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { WorkgroupConfig } from '../../config/config.ts';
import type { InputState } from '../../inputs/input-counter.ts';
import { isPrecision } from '../../inputs/parse-line.ts';
import { createLineReader } from '../../inputs/read-influx-line.ts';
import { createMessageReader } from '../../inputs/read-mqtt-message.ts';
import { errorMessage, TerminalError, TransientError } from '../../lib/errors.ts';
import { systemClock } from '../../lib/time.ts';
import type { Terminal } from '../../service/terminal.ts';
import { chooseWorkgroup, WORKGROUP_OPTION } from '../choose-workgroup.ts';
import { commandLineError } from '../command-line-error.ts';
import { readConfig } from '../read-config.ts';
import { failing } from '../terminal/failing.ts';
import { printData, printNote } from '../terminal/output.ts';
import { askInputs } from './ask-inputs.ts';
import { describeInputs, describeTried, type TriedRule } from './inputs-view.ts';

interface TryOptions {
  workgroup?: string;
  topic?: string;
  payload?: string;
  line?: string;
  precision: string;
}

export function addInputsCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('inputs')
    .description('show the MQTT brokers and the line protocol: connection, rate and refused messages')
    .option('-w, --workgroup <id>', 'only this workgroup')
    .addHelpText('after', help)
    .action(async ({ workgroup }: { workgroup?: string }) => {
      const config = readConfig(command, terminal);
      const chosen = workgroup === undefined ? config.workgroups : [chooseWorkgroup(config, workgroup)];
      const ids = new Set(chosen.map(({ id }) => id));
      const states = (await askStreams(config.dataDir)).filter(({ workgroupId }) => ids.has(workgroupId));
      const { inputTroubles } = await import('../../operate/input-troubles.ts');
      const troubles = await inputTroubles(config, chosen, systemClock, 0);
      printData(command, terminal, states, (columnsMax, shown) =>
        describeInputs(shown, troubles, systemClock.now(), columnsMax),
      );
      if (troubles.length > 0) throw failing(troubles);
      if (chosen.every(({ inputs }) => inputs === undefined))
        printNote(command, terminal, 'no inputs are configured; see docs/inputs.md');
    });
  command
    .command('try')
    .description('show how a message or a line would be read, without sending it')
    .option(...WORKGROUP_OPTION)
    .option('--topic <topic>', 'the topic of a message')
    .option('--payload <text>', 'its payload, or "-" to read it from standard input')
    .option('--line <line>', 'instead of a message: a line of the Influx line protocol')
    .option('--precision <unit>', 'the unit of the time of the line', 'ns')
    .addHelpText('after', tryHelp)
    .action((options: TryOptions, tryCommand: Command) => {
      const config = readConfig(tryCommand, terminal);
      // Both commands have this option. Commander gives its value to the parent command.
      const { workgroup: id } = tryCommand.optsWithGlobals<TryOptions>();
      const workgroup = chooseWorkgroup(config, id);
      const tried = options.line === undefined ? tryMessage(workgroup, options) : tryLine(workgroup, options);
      const nameOf = (device: string) => workgroup.devices.find((one) => one.id === device)?.name;
      printData(tryCommand, terminal, tried, (_, shown) => describeTried(shown, nameOf));
      const [first] = tried;
      if (first?.outcome.kind !== 'reading' && tried.every(({ outcome }) => outcome.kind !== 'reading'))
        throw new TerminalError('NoReading', 'it gives no reading; the reasons are above');
    });
}

/**
 * The inputs of the stream processes of this machine.
 * @throws TransientError if none runs, or if one does not answer
 */
async function askStreams(dataDir: string): Promise<InputState[]> {
  const streams = (await askInputs(dataDir)).filter(({ roles }) => roles.includes('stream'));
  if (streams.length === 0)
    throw new TransientError(
      'NothingRuns',
      `no stream service runs on ${dataDir} on this machine; start one with "wattline up"`,
    );
  return streams.flatMap(({ processId, outcome }) => {
    if (outcome.kind === 'answer') return outcome.answer;
    throw new TransientError(
      'NoAnswer',
      `the stream service (process ${processId}) does not report the state of its inputs: ${errorMessage(outcome.error)}; try again, or let "wattline doctor" look for the reason`,
    );
  });
}

function tryMessage(workgroup: WorkgroupConfig, { topic, payload }: TryOptions): TriedRule[] {
  if (topic === undefined || payload === undefined)
    throw commandLineError('--topic', 'a topic and a payload are needed, or a line (--line)');
  const bytes = payload === '-' ? readFileSync(0) : Buffer.from(payload);
  const brokers = workgroup.inputs?.mqtt ?? [];
  if (brokers.length === 0) return [none('mqtt', `the workgroup "${workgroup.id}" has no inputs.mqtt`)];
  return brokers.flatMap(({ id, rules }) => {
    const outcomes = createMessageReader(workgroup, rules).read(topic, bytes, systemClock.now());
    if (outcomes.length === 0) return [none(id, `no rule matches the topic ${topic}`)];
    return outcomes.map((outcome) => ({ input: id, outcome }));
  });
}

function tryLine(workgroup: WorkgroupConfig, { line = '', precision }: TryOptions): TriedRule[] {
  if (!isPrecision(precision))
    throw commandLineError('--precision', 'must be one of ns, us, ms, s, n, u, m, h');
  const rules = workgroup.inputs?.lines ?? [];
  if (rules.length === 0) return [none('lines', `the workgroup "${workgroup.id}" has no inputs.lines`)];
  const context = { precision, receivedAtMs: systemClock.now(), devices: 'all' as const };
  const outcomes = createLineReader(workgroup, rules)(line, context);
  if (outcomes.length === 0) return [none('lines', 'the line is empty or a comment')];
  return outcomes.map((outcome) => ({ input: 'lines', outcome }));
}

function none(input: string, reason: string): TriedRule {
  return { input, outcome: { kind: 'ignored', reason } };
}

const help = `
Shows the state of each input of the running service on this machine. Counts are since its start. Again: messages that the broker delivered again, and
that were already stored. Retained: messages that the broker keeps, so they are not new readings. Ignored: messages without a rule or without a
reading. Refused: bad payloads, which are in the quarantine, and bad lines, about which the sender got an error. Below the table are problems,
and the last refused and ignored messages.

The exit code is 4 if an input is not connected, cannot store its messages or loses its connection again and again, or if the running service
does not know it.

Examples:
  wattline inputs
  wattline inputs try --topic shellies/shellyem-B9F2/emeter/0/total --payload 12345.6
  wattline inputs try --line 'power,host=garage total_wh=12345 1795000000000000000'`;

const tryHelp = `
Reads the message or the line by the configuration, as the service would, and prints table, device, source, time and fields of each reading, or why
there is none. It needs no service and no broker. The exit code is 1 if there is no reading.

Examples:
  wattline inputs try --topic tele/plug/SENSOR --payload '{"ENERGY":{"Total":3.185}}'
  mosquitto_sub -t tele/plug/SENSOR -C 1 | wattline inputs try --topic tele/plug/SENSOR --payload -`;
