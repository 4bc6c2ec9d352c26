import { readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { Config } from '../../config/config.ts';
import { tableNameSchema } from '../../contract/messages.ts';
import { cannotBeRead } from '../../lib/errors.ts';
import { addDays, isLocalDate, type LocalDate, localDateOf } from '../../lib/time.ts';
import type { Service } from '../../service/service.ts';
import type { Terminal } from '../../service/terminal.ts';
import { chooseWorkgroup } from '../choose-workgroup.ts';
import { commandLineError } from '../command-line-error.ts';
import { runTask } from '../run-service.ts';
import { inTempFolder } from '../temp-folder.ts';
import { printData, printNote } from '../terminal/output.ts';
import { dryRunFiles, importAll } from './import-files.ts';

interface HomeAssistantOptions {
  url: string;
  tokenFile: string;
  list?: boolean;
  map?: string;
  from?: string;
  until?: string;
  workgroup?: string;
  table?: string;
  dryRun?: boolean;
}

export function addHomeAssistantImport(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('home-assistant')
    .description('import the long-term statistics of Home Assistant')
    .requiredOption('--url <address>', 'its address, such as http://homeassistant.local:8123')
    .requiredOption('--token-file <file>', 'a file with a long-lived access token')
    .addOption(new Option('--list', 'show the statistics with energy or power').conflicts('map'))
    .option('--map <file>', 'a YAML file with the device and the source of each statistic')
    .option('--from <day>', 'the first day, in UTC (default: the first of the statistics)')
    .option('--until <day>', 'the last day, in UTC (default: yesterday)')
    .addHelpText('after', help)
    .action(() =>
      runTask(command, terminal, (config, service) =>
        runCommand(command, config, service, command.optsWithGlobals<HomeAssistantOptions>()),
      ),
    );
}

async function runCommand(
  command: Command,
  config: Config,
  service: Service,
  options: HomeAssistantOptions,
): Promise<void> {
  const { terminal, signal } = service;
  const workgroup = chooseWorkgroup(config, options.workgroup);
  if (!/^https?:\/\/[^@]+$/.test(options.url) || !URL.canParse(options.url))
    throw commandLineError('--url', 'must be an http:// or https:// address without a user');
  if (!options.list && options.map === undefined)
    throw commandLineError('--map', 'is needed; --list shows what can be named there');
  const token = readText('--token-file', resolve(terminal.cwd, options.tokenFile)).trim();
  const { connectHomeAssistant } = await import('../../home-assistant/connect-home-assistant.ts');
  const { listStatistics } = await import('../../home-assistant/list-statistics.ts');
  const homeAssistant = await connectHomeAssistant({ url: options.url, token }, signal);
  try {
    const known = await listStatistics(homeAssistant);
    if (options.list) {
      const { describeStatistics } = await import('./statistics-view.ts');
      printData(command, terminal, { statistics: known }, (columnsMax) =>
        describeStatistics(known, columnsMax),
      );
      return;
    }
    const { parseYaml } = await import('../../config/parse-yaml.ts');
    const { readStatisticsMap } = await import('../../home-assistant/read-statistics-map.ts');
    const { fetchStatistics, statisticsMapping } = await import('../../home-assistant/fetch-statistics.ts');
    const { mappingSchema } = await import('../../import/import-mapping.ts');
    const path = resolve(terminal.cwd, options.map!);
    const parsed = parseYaml(readText('--map', path));
    if (!('value' in parsed)) throw commandLineError('--map', `${path} is not YAML`);
    const chosen = readStatisticsMap(path, parsed.value, known, workgroup);
    const until = dayOf('--until', options.until) ?? addDays(localDateOf(service.clock.now(), 'Etc/UTC'), -1);
    // A preview needs no years.
    const from =
      dayOf('--from', options.from) ?? (options.dryRun ? addDays(until, -PREVIEW_DAYS + 1) : undefined);
    await inTempFolder('home-assistant', service, async (folder) => {
      const onPeriod = (name: string) => printNote(command, terminal, `reading ${name}`);
      const paths = await fetchStatistics(homeAssistant, chosen, { from, until }, { folder, onPeriod });
      const { host } = new URL(options.url);
      const files = paths.map((path) => ({ path, shownPath: `${host}/${basename(path)}` }));
      homeAssistant.close();
      if (files.length === 0)
        return printNote(command, terminal, 'the statistics have no values in this time');
      const request = {
        workgroup,
        table: tableOf(options.table),
        mapping: mappingSchema.parse(statisticsMapping),
        threads: config.pipeline.warehouseThreads,
      };
      if (options.dryRun) await dryRunFiles(command, service, files, request, undefined);
      else await importAll(command, config, service, files, request);
    });
  } finally {
    homeAssistant.close();
  }
}

const PREVIEW_DAYS = 7;

function tableOf(text = 'home_assistant'): string {
  const table = tableNameSchema.safeParse(text);
  if (!table.success) throw commandLineError('--table', table.error.issues[0]!.message);
  return table.data;
}

function dayOf(option: string, text: string | undefined): LocalDate | undefined {
  if (text !== undefined && !isLocalDate(text))
    throw commandLineError(option, 'must be a day such as 2026-03-01');
  return text;
}

function readText(option: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw commandLineError(option, `${path} ${cannotBeRead(error)}`);
  }
}

const help = `
Also: --workgroup, --table (default: home_assistant) and --dry-run, as for files.

Energy is read as a register in Wh (field energy_wh), power as means of an hour in W (field power_w). Home Assistant keeps hours for ever. The
command imports one month after another. After an interruption run it again: it skips imported months.

A map file:
  sensor.pv_energy: { device: roof, source: pv }
  sensor.heat_pump_power: { device: heat pump, source: power }

Examples:
  wattline import home-assistant --url http://homeassistant.local:8123 --token-file ha.token --list
  wattline import home-assistant --url http://homeassistant.local:8123 --token-file ha.token --map ha.yaml --dry-run
  wattline import home-assistant --url http://homeassistant.local:8123 --token-file ha.token --map ha.yaml`;
