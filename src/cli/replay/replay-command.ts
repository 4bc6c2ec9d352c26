import { resolve } from 'node:path';
import type { Command } from 'commander';
import { InputError } from '../../lib/errors.ts';
import type { LocalDate } from '../../lib/time.ts';
import type { Terminal } from '../../service/terminal.ts';
import { runWithoutConfig } from '../run-service.ts';
import { formatTable } from '../terminal/format-table.ts';
import { printData } from '../terminal/output.ts';
import { readCases } from './read-cases.ts';
import type { ReplayResult } from './replay-cases.ts';
import type { BalanceResult } from './run-balance-case.ts';

export function addReplayCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('replay')
    .description('run readings of your own through the whole pipeline, and print the energy')
    .argument('<path>', 'a folder with case.json and readings.csv.gz, or a JSON file with cases')
    .addHelpText('after', help)
    .action((path: string) =>
      runWithoutConfig(command, terminal, async (service) => {
        const { readings, balances } = await readCases(resolve(terminal.cwd, path));
        const results: Record<string, ReplayResult | BalanceResult> = {};
        if (readings.length > 0) {
          const { replayCases } = await import('./replay-cases.ts');
          await replayCases(readings, service, (name, result) => {
            results[name] = result;
          });
        }
        if (balances.length > 0) {
          const { replayBalances } = await import('./replay-balances.ts');
          await replayBalances(balances, service.signal, (name, result) => {
            results[name] = result;
          });
        }
        printData(command, terminal, results, (_, shown) => Object.entries(shown).map(describe).join('\n'));
        const failed = Object.entries(results).flatMap(([name, result]) => {
          const message = failureOf(result);
          return message === undefined ? [] : [{ path: name, message }];
        });
        if (failed.length > 0) throw new InputError(path, failed);
      }),
    );
}

/** The error of a failed case. Undefined if it succeeded. */
function failureOf(result: ReplayResult | BalanceResult): string | undefined {
  if ('error' in result) return result.error;
  return 'failed' in result ? result.failed.find(({ series }) => series === null)?.error : undefined;
}

function describe([name, result]: [string, ReplayResult | BalanceResult]): string {
  if (failureOf(result) !== undefined || 'error' in result) return `${name}: cannot be computed\n`;
  return 'bySource' in result ? describeEnergy(name, result) : describeBalance(name, result);
}

/** Balances by day, as text. */
function describeBalance(name: string, { day }: Extract<BalanceResult, { day: unknown }>): string {
  const rows = Object.entries(day).map(([date, told]) => ({ date, told }));
  return `${name}\n${formatTable(balanceColumns, rows)}`;
}

/** Wh by day and source, and the counts, as text. */
function describeEnergy(
  name: string,
  { bySource, messages, rejected, seconds, failed }: ReplayResult,
): string {
  const rows = Object.entries(bySource).flatMap(([day, series]) =>
    Object.entries(series).map(([key, energyWh]): Row => ({ day, series: key, energyWh })),
  );
  const counts = `${messages} messages, ${rejected} rejected, ${seconds.toFixed(1)} s`;
  const failures = failed.map(({ series, error }) => `${series} cannot be computed: ${error}\n`);
  return `${name}: ${counts}\n${rows.length > 0 ? formatTable(columns, rows) : 'no energy\n'}${failures.join('')}`;
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

interface BalanceRow {
  date: LocalDate;
  told: Record<string, unknown>;
}

const balanceColumns = [
  { title: 'Day', value: (row: BalanceRow) => row.date },
  ...(
    [
      ['Production', 'productionWh'],
      ['Import', 'gridImportWh'],
      ['Discharge', 'batteryDischargeWh'],
      ['Consumption', 'consumptionWh'],
      ['Export', 'gridExportWh'],
      ['Charge', 'batteryChargeWh'],
      ['Residual', 'residualWh'],
    ] as const
  ).map(([title, field]) => ({
    title: `${title} Wh`,
    value: ({ told }: BalanceRow) => (told[field] === null ? '-' : Number(told[field]).toLocaleString('en')),
    align: 'right' as const,
  })),
  { title: 'Autarky', value: ({ told }: BalanceRow) => String(told.autarky ?? '-'), align: 'right' as const },
  { title: 'Flags', value: ({ told }: BalanceRow) => (told.flags as string[]).join(' ') },
];

const help = `
The command runs in a temporary folder, reads no configuration, and keeps nothing.

case.json        { "name", "timezone", "table", "energyStreams": [{ "field", "method", "unit", "maxPower": "10 kW", ... }] }
readings.csv.gz  event_time (ISO 8601 with a zone), device_id, source, then a column for each field; an empty cell is null
JSON file        an array of cases with "id" and "readings": [{ "event_time", "device", "source", "data": { ... } }]

A JSON file can also contain cases of the energy balance: Wh by interval, source and role, without readings:

balance case     { "id", "timezone", "sources": [{ "device", "source", "role", "negativeRole", "within", "from", "to", "sign",
                 "wh": { "<start of 15 minutes>": Wh }, "unlistedWh", "dailyWh": { "<day>": Wh }, "silent",
                 "peakPower": [{ "kWp", "from" }] }], "absent", "devices": [{ "name", "energyRole", "totalSource", "sources" }],
                 "options": { "startDate", "endDate", "toleranceWh", "tolerancePercent", "zones" } }
                 Intervals that are not listed have unlistedWh (default 0). null is unknown. dailyWh has no shape. silent has no data.

With --json: { "<case>": { "days": { "<day>": { "<device>": Wh } }, "bySource": { "<day>": { "<device>.<source>": Wh } },
"flags": { "<day>": { "<device>.<source>": ["reset", ...] } }, "failed": [{ "series": "<device>.<source>", "field", "error" }],
"messages", "rejected", "rejectedByReason", "seconds" } }. Failed series are listed in failed. If the whole case fails, series is null.
For a balance case: { "<case>": { "intervals", "day", "month", "zones": { "<zone>": { "day", "month" } }, "dailyEnergy", "restWh" } }

Examples:
  wattline replay ./export
  wattline replay cases.json --json`;
