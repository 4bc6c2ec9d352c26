import { resolve } from 'node:path';
import type { Command } from 'commander';
import { InputError } from '../../lib/errors.ts';
import { formatCount, formatCountOf } from '../../lib/format-count.ts';
import type { LocalDate } from '../../lib/time.ts';
import type { Terminal } from '../../service/terminal.ts';
import { runWithoutConfig } from '../run-service.ts';
import { formatKwh } from '../terminal/format-numbers.ts';
import { formatTable } from '../terminal/format-table.ts';
import { printData } from '../terminal/output.ts';
import type { ComparedDay } from './expected-days.ts';
import { readCases } from './read-cases.ts';
import type { ReplayResult } from './replay-cases.ts';
import { createReplayView } from './replay-view.ts';
import type { BalanceResult } from './run-balance-case.ts';

export function addReplayCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('replay')
    .description('run your own readings through the whole pipeline, and print the energy')
    .argument('<path>', 'a folder with case.json and readings.csv.gz, or a JSON file with cases')
    .addHelpText('after', help)
    .action((path: string) =>
      runWithoutConfig(command, terminal, async (service) => {
        const { readings, balances } = await readCases(resolve(terminal.cwd, path));
        const results: Record<string, ReplayResult | BalanceResult> = {};
        if (readings.length > 0) {
          const { replayCases } = await import('./replay-cases.ts');
          const view = createReplayView(terminal);
          try {
            await replayCases(
              readings,
              service,
              (name, result) => {
                results[name] = result;
              },
              view.show,
            );
          } finally {
            view.close();
          }
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
  const rows = Object.entries(day).map(([date, balance]) => ({ date, balance }));
  return `${name}\n${formatTable(balanceColumns, rows)}`;
}

/** Wh by day and source, their totals, the counts, and the comparison with expected.csv, as text. */
function describeEnergy(
  name: string,
  { bySource, messages, rejected, rejectedByReason, compared, seconds, failed }: ReplayResult,
): string {
  const rows = Object.entries(bySource).flatMap(([day, series]) =>
    Object.entries(series).map(([key, energyWh]): Row => ({ day, series: key, energyWh })),
  );
  const counts = `${formatCountOf(messages, 'message')}, ${formatCount(rejected)} rejected, ${seconds.toFixed(1)} s`;
  const reasons = Object.entries(rejectedByReason)
    .sort(([, one], [, other]) => other - one)
    .map(([reason, count]) => `  rejected, ${reason}: ${formatCount(count)}\n`);
  const failures = failed.map(({ series, error }) => `${series} cannot be computed: ${error}\n`);
  const energy = rows.length > 0 ? `${formatTable(columns, rows)}${describeTotals(rows)}` : 'no energy\n';
  const comparison = compared ? describeComparison(compared) : '';
  return `${name}: ${counts}\n${reasons.join('')}${energy}${comparison}${failures.join('')}`;
}

/** The sum of each series. Series are not added up, because they may be unlike. */
function describeTotals(rows: readonly Row[]): string {
  const totals = [...Map.groupBy(rows, ({ series }) => series)].map(([series, list]) => ({
    series,
    days: list.length,
    energyWh: list.reduce((sum, { energyWh }) => sum + energyWh, 0),
  }));
  return `\n${formatTable(totalColumns, totals)}`;
}

function describeComparison(compared: readonly ComparedDay[]): string {
  const differing = compared.filter(({ matches }) => !matches);
  const matching = compared.length - differing.length;
  const summary = `\nexpected.csv: ${formatCount(matching)} of ${formatCountOf(compared.length, 'day matches', 'days match')}\n`;
  if (differing.length === 0) return summary;
  const more = differing.length - DIFFERING_SHOWN_MAX;
  return `${summary}${formatTable(comparedColumns, differing.slice(0, DIFFERING_SHOWN_MAX))}${more > 0 ? `and ${formatCount(more)} more\n` : ''}`;
}

const DIFFERING_SHOWN_MAX = 20;

interface Row {
  day: LocalDate;
  series: string;
  energyWh: number;
}

const columns = [
  { title: 'Day', value: (row: Row) => row.day },
  { title: 'Device.source', value: (row: Row) => row.series },
  { title: 'Wh', value: (row: Row) => formatCount(row.energyWh), align: 'right' as const },
];

const totalColumns = [
  { title: 'Total of', value: ({ series }: { series: string }) => series },
  { title: 'Days', value: ({ days }: { days: number }) => formatCount(days), align: 'right' as const },
  {
    title: 'kWh',
    value: ({ energyWh }: { energyWh: number }) => formatKwh(energyWh),
    align: 'right' as const,
  },
];

const comparedColumns = [
  { title: 'Day', value: ({ day }: ComparedDay) => day },
  { title: 'Device.source', value: ({ device, source }: ComparedDay) => `${device}.${source}` },
  ...(
    [
      ['Expected Wh', ({ energyWh }) => energyWh],
      ['Computed Wh', ({ gotWh }) => gotWh],
      ['Difference Wh', ({ gotWh, differenceWh }) => (gotWh === null ? null : differenceWh)],
    ] as ReadonlyArray<[title: string, wh: (day: ComparedDay) => number | null]>
  ).map(([title, wh]) => ({
    title,
    value: (day: ComparedDay) => {
      const energyWh = wh(day);
      return energyWh === null ? '-' : formatCount(energyWh);
    },
    align: 'right' as const,
  })),
];

interface BalanceRow {
  date: LocalDate;
  balance: Record<string, unknown>;
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
    value: ({ balance }: BalanceRow) => (balance[field] === null ? '-' : formatCount(Number(balance[field]))),
    align: 'right' as const,
  })),
  {
    title: 'Autarky',
    value: ({ balance }: BalanceRow) => String(balance.autarky ?? '-'),
    align: 'right' as const,
  },
  { title: 'Flags', value: ({ balance }: BalanceRow) => (balance.flags as string[]).join(' ') },
];

const help = `
The command runs in a temporary folder, reads no configuration, and keeps nothing.

case.json        { "name", "timezone", "table", "energyStreams": [{ "field", "method", "unit", "maxPower": "10 kW", ... }] }
readings.csv.gz  event_time (ISO 8601 with a zone), device_id, source, then a column for each field; an empty cell is null
expected.csv     if it is in the folder, days are compared with it: day, device_id, source, energy_wh, tolerance_wh
JSON file        an array of cases with "id" and "readings": [{ "event_time", "device", "source", "data": { ... } }]

A JSON file can also contain cases of the energy balance: Wh by interval, source and role, without readings:

balance case     { "id", "timezone", "sources": [{ "device", "source", "role", "negativeRole", "within", "from", "to", "sign",
                 "wh": { "<start of 15 minutes>": Wh }, "unlistedWh", "dailyWh": { "<day>": Wh }, "silent",
                 "peakPower": [{ "kWp", "from" }] }], "absent", "devices": [{ "name", "energyRole", "totalSource", "sources" }],
                 "options": { "startDate", "endDate", "toleranceWh", "tolerancePercent", "zones" } }
                 Intervals that are not listed have unlistedWh (default 0). null is unknown. dailyWh has no shape. silent has no data.

With --json: { "<case>": { "days": { "<day>": { "<device>": Wh } }, "bySource": { "<day>": { "<device>.<source>": Wh } },
"flags": { "<day>": { "<device>.<source>": ["reset", ...] } }, "failed": [{ "series": "<device>.<source>", "field", "error" }],
"messages", "rejected", "rejectedByReason", "compared", "seconds" } }. Failed series are listed in failed. If the whole case fails, series is null.
For a balance case: { "<case>": { "intervals", "day", "month", "zones": { "<zone>": { "day", "month" } }, "dailyEnergy", "restWh" } }

Examples:
  wattline replay ./export
  wattline replay cases.json --json`;
