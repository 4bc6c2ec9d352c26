import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { LocalDate } from '../time.ts';
import { printData } from './output.ts';
import { readCases } from './replay-cases.ts';
import type { ReplayResult } from './replay-run.ts';
import { runWithoutConfig } from './service.ts';
import { formatTable } from './table.ts';
import type { Terminal } from './terminal.ts';

export function addReplayCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('replay')
    .description(
      'a dry run of your own export: push readings through the whole pipeline and print the energy',
    )
    .argument('<path>', 'a folder with case.json and readings.csv.gz, or a JSON file with cases')
    .addHelpText('after', help)
    .action((path: string) =>
      runWithoutConfig(command, terminal, async (service) => {
        const cases = await readCases(resolve(terminal.cwd, path));
        const results: Record<string, ReplayResult> = {};
        const { replayCases } = await import('./replay-run.ts');
        await replayCases(cases, service, (name, result) => {
          results[name] = result;
        });
        printData(command, terminal, results, () => Object.entries(results).map(describe).join('\n'));
      }),
    );
}

/** Wh by day and source for people, and how it went. */
function describe([name, { bySource, messages, rejected, seconds }]: [string, ReplayResult]): string {
  const rows = Object.entries(bySource).flatMap(([day, series]) =>
    Object.entries(series).map(([key, energyWh]): Row => ({ day, series: key, energyWh })),
  );
  const counts = `${messages} messages, ${rejected} rejected, ${seconds.toFixed(1)} s`;
  return `${name}: ${counts}\n${rows.length > 0 ? formatTable(columns, rows) : 'no energy\n'}`;
}

interface Row {
  day: LocalDate;
  series: string;
  energyWh: number;
}

const columns = [
  { title: 'Day', value: (row: Row) => row.day },
  { title: 'Device.source', value: (row: Row) => row.series },
  { title: 'Wh', value: (row: Row) => row.energyWh.toLocaleString('en'), align: 'right' as const },
];

const help = `
Nothing is kept: it runs on parts of its own in a temporary folder, and reads no configuration.

case.json        { "name", "timezone", "table", "energyStreams": [{ "field", "method", "unit", "maxPower": "10 kW", ... }] }
readings.csv.gz  event_time (ISO 8601 with a zone), device_id, source, then a column for each field; an empty cell is null
JSON file        an array of such cases with "id" and "readings": [{ "event_time", "device", "source", "data": { ... } }]

With --json: { "<case>": { "days": { "<day>": { "<device>": Wh } }, "bySource": { "<day>": { "<device>.<source>": Wh } },
"messages", "rejected", "rejectedByReason", "seconds" } }

Examples:
  wattline replay ./export
  wattline replay cases.json --json`;
