import type { Command } from 'commander';
import type { Config, WorkgroupConfig } from '../../config/config.ts';
import type { CorrectionRequest } from '../../correction/correction-request.ts';
import type { ListedCorrection } from '../../correction/list-corrections.ts';
import { InputError } from '../../lib/errors.ts';
import { MINUTE_MS } from '../../lib/time.ts';
import type { Service } from '../../service/service.ts';
import type { Terminal } from '../../service/terminal.ts';
import { chooseDevice } from '../choose-device.ts';
import { chooseWorkgroup, WORKGROUP_OPTION } from '../choose-workgroup.ts';
import { commandLineError } from '../command-line-error.ts';
import { runTask } from '../run-service.ts';
import { printData, printNote } from '../terminal/output.ts';
import { energyOf, parseLike, type StretchOptions, stretchOf } from './correct-input.ts';

interface StoreOptions extends StretchOptions {
  workgroup?: string;
  source?: string;
  reason: string;
  author?: string;
  dryRun?: boolean;
  key?: string;
}

/** Within this time a year of readings is computed again. */
const STORE_MS = 10 * MINUTE_MS;

export function addCorrectCommand(program: Command, terminal: Terminal): void {
  const group = program
    .command('correct')
    .description(
      'correct measured energy: exclude readings, set energy, fill gaps, undo; each correction is recorded',
    );
  addExclude(group, terminal);
  addSet(group, terminal);
  addFill(group, terminal);
  addUndo(group, terminal);
  addList(group, terminal);
}

function addExclude(group: Command, terminal: Terminal): void {
  const command = group
    .command('exclude')
    .description('exclude the readings of a period, also readings that arrive later')
    .option('--table <name>', 'only readings of this table')
    .option('--field <name>', 'only readings of this field');
  addStretch(command)
    .addHelpText('after', excludeHelp)
    .action((device: string, options: StoreOptions & { table?: string; field?: string }) =>
      store(command, terminal, options, (workgroup) => ({
        kind: 'exclude',
        ...common(workgroup, device, options),
        ...stretchOf(options, workgroup),
        ...(options.table !== undefined && { table: options.table }),
        ...(options.field !== undefined && { field: options.field }),
      })),
    );
}

function addSet(group: Command, terminal: Terminal): void {
  const command = group
    .command('set')
    .description('set the energy of a day, or of some quarters of an hour')
    .requiredOption('-e, --energy <quantity>', 'the energy of the whole period, with its unit: "3.5 MWh"');
  addStretch(command)
    .addHelpText('after', setHelp)
    .action((device: string, options: StoreOptions & { energy: string }) =>
      store(command, terminal, options, (workgroup) => {
        const of = { ...common(workgroup, device, options), energyWh: energyOf(options.energy) };
        if (options.day !== undefined && options.from === undefined && options.to === undefined)
          return { kind: 'set_day', ...of, day: options.day };
        return { kind: 'set', ...of, ...stretchOf(options, workgroup) };
      }),
    );
}

function addFill(group: Command, terminal: Terminal): void {
  const command = group
    .command('fill')
    .description('estimate missing energy from comparable days, or from another source')
    .option('--like <device/source>', 'use the shape of another source, scaled by the ratio of their days')
    .option('--replace', 'also replace measured energy');
  addStretch(command)
    .addHelpText('after', fillHelp)
    .action((device: string, options: StoreOptions & { like?: string; replace?: boolean }) =>
      store(command, terminal, options, (workgroup) => ({
        kind: 'fill',
        ...common(workgroup, device, options),
        ...stretchOf(options, workgroup),
        replace: options.replace ?? false,
        ...(options.like !== undefined && { like: parseLike(options.like, workgroup) }),
      })),
    );
}

function addUndo(group: Command, terminal: Terminal): void {
  const command = group.command('undo').description('undo a correction').argument('<id>', 'its number');
  addStored(command)
    .addHelpText('after', undoHelp)
    .action((id: string, options: StoreOptions) =>
      store(command, terminal, options, () => {
        if (!/^[1-9]\d{0,8}$/.test(id))
          throw commandLineError(
            'id',
            `"${id}" is not the number of a correction; see "wattline correct list"`,
          );
        return { kind: 'undo', correctionId: Number(id), reason: options.reason, ...keyOf(options) };
      }),
    );
}

function addStretch(command: Command): Command {
  return addStored(
    command
      .argument('<device>', 'its id or its configured name')
      .option('-s, --source <name>', 'the source of the device', 'default')
      .option('--day <day>', "a day of the workgroup's time zone, YYYY-MM-DD")
      .option('--from <time>', 'the start: 2026-05-17T13:00 in the zone of the workgroup, or with an offset')
      .option('--to <time>', 'the end, not included'),
  );
}

function addStored(command: Command): Command {
  return command
    .requiredOption('-r, --reason <text>', 'the reason; everybody who can read the day can read it')
    .option('--author <name>', 'the author of the correction; the user of this machine is recorded as well')
    .option('--key <text>', 'stores a correction with this key only once')
    .option(...WORKGROUP_OPTION)
    .option('--dry-run', 'show what would change, and store nothing');
}

function common(workgroup: WorkgroupConfig, device: string, options: StoreOptions) {
  return {
    device: chooseDevice(workgroup, device),
    source: options.source ?? 'default',
    reason: options.reason,
    ...keyOf(options),
  };
}

function keyOf({ key }: StoreOptions): { key?: string } {
  return key === undefined ? {} : { key };
}

function store(
  command: Command,
  terminal: Terminal,
  options: StoreOptions,
  read: (workgroup: WorkgroupConfig) => CorrectionRequest,
): Promise<void> {
  return runTask(command, terminal, async (config, service) => {
    const { correctionRequestSchema } = await import('../../correction/correction-request.ts');
    const { withRequestKey } = await import('../../correction/with-request-key.ts');
    const { inWords } = await import('../../lib/input-words.ts');
    const { zodProblems } = await import('../../config/zod-problems.ts');
    const { describeCorrectionOutcome } = await import('./correct-view.ts');
    const { localActor } = await import('../../audit/local-actor.ts');
    const { followUpAll } = await import('../../service/follow-up-all.ts');
    const { openOwner } = await import('../../service/open-owner.ts');
    const workgroup = chooseWorkgroup(config, options.workgroup);
    const parsed = correctionRequestSchema.safeParse(read(workgroup), inWords);
    if (!parsed.success) throw new InputError('the correction', zodProblems(parsed.error));
    const actor = localActor();
    const author = options.author === undefined ? actor : `${options.author} (${actor})`;
    const dryRun = options.dryRun ?? false;
    const owner = await openOwner(config, workgroup, service);
    try {
      const answer = await owner.ask('correct', withRequestKey({ request: parsed.data, author, dryRun }), {
        signal: service.signal,
        withinMs: STORE_MS,
      });
      printData(command, terminal, answer, (columnsMax, shown) =>
        describeCorrectionOutcome(shown, workgroup, columnsMax),
      );
      if (answer.outcome === 'stored') await followUpAll(owner, service.signal);
    } finally {
      await owner.close();
    }
    if (owner.isService && !dryRun) printNote(command, terminal, 'the service publishes it within seconds');
  });
}

interface ListOptions {
  workgroup?: string;
  device?: string;
  source?: string;
  day?: string;
  inForce?: boolean;
}

function addList(group: Command, terminal: Terminal): void {
  const command = group
    .command('list')
    .description('list corrections, newest first')
    .option('-d, --device <device>', 'only this device: its id or its configured name')
    .option('-s, --source <name>', 'only this source')
    .option('--day <day>', "only corrections of this day in the workgroup's time zone")
    .option('--in-force', 'without undone corrections and without undos')
    .option(...WORKGROUP_OPTION)
    .addHelpText('after', listHelp)
    .action((options: ListOptions) =>
      runTask(command, terminal, async (config, service) => {
        const { describeCorrections } = await import('./correct-view.ts');
        const workgroup = chooseWorkgroup(config, options.workgroup);
        const corrections = await list(config, workgroup, options, service);
        printData(command, terminal, corrections, (columnsMax, shown) =>
          describeCorrections(shown, workgroup, columnsMax),
        );
      }),
    );
}

async function list(
  config: Config,
  workgroup: WorkgroupConfig,
  options: ListOptions,
  { logger, clock }: Service,
): Promise<ListedCorrection[]> {
  const { askOrRead } = await import('../../service/ask-or-read.ts');
  const { parseDay } = await import('./correct-input.ts');
  const { readAllCorrections } = await import('./read-all-corrections.ts');
  const chosen = {
    inForce: options.inForce ?? false,
    ...(options.device !== undefined && { devices: [chooseDevice(workgroup, options.device, '--device')] }),
    ...(options.source !== undefined && { source: options.source }),
    ...(options.day !== undefined && { day: parseDay(options.day) }),
  };
  return readAllCorrections((page) => {
    const query = { ...chosen, ...page };
    return askOrRead(config, workgroup, { logger, clock }, 'corrections', query, async (assignment) => {
      const { correctionsClosed } = await import('../../pipeline/offline-operations.ts');
      return correctionsClosed(assignment, query, clock);
    });
  });
}

const whole = `
Readings are never changed. A correction is a separate row with author, time and reason. "wattline correct undo" reverts it. If "wattline up"
runs, the service stores the correction. Otherwise this command does it, and publishes. Final days become "restated", and "wattline changes" lists them.`;

const excludeHelp = `${whole}

Examples:
  wattline correct exclude garage --from 2026-05-17T13:00 --to 2026-05-17T13:10 --reason "averaged with zeros"
  wattline correct exclude garage --day 2026-05-17 --field total_wh --reason "another meter's register" --dry-run`;

const setHelp = `
The energy keeps the measured shape, scaled. Without measurements it is spread evenly. The intervals add up to the given energy exactly.
${whole}

Examples:
  wattline correct set garage --day 2026-05-17 --energy "3.5 MWh" --reason "bill of the grid operator"
  wattline correct set garage --from 2026-05-17T13:00 --to 2026-05-17T14:00 --energy "2 kWh" --reason "read by hand"`;

const fillHelp = `
Without --like each quarter of an hour is the median of the same quarter on the 10 nearest comparable days: Monday to Friday, or Saturday and
Sunday, at most 28 days away, at least 3. With --like it is the measurement of the other source, multiplied by a ratio: the median of the ratios
of days that both sources have. The values are computed once. The days get the flag "estimated".
${whole}

Examples:
  wattline correct fill garage --from 2026-05-17T13:00 --to 2026-05-17T16:00 --reason "logger restarted"
  wattline correct fill garage --source west --day 2026-05-17 --like garage/east --reason "west was offline"`;

const undoHelp = `
The corrected days get their previous values back, in a new version. An undo cannot be undone: make the correction again.

Examples:
  wattline correct undo 3 --reason "it was right after all"`;

const listHelp = `
Examples:
  wattline correct list --day 2026-05-17
  wattline correct list --in-force --json`;
