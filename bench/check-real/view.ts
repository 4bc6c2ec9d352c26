import type { ComparedDay } from '../../src/cli/replay/expected-days.ts';
import { type Column, formatTable } from '../../src/cli/terminal/format-table.ts';
import type { CheckedCase, Why } from './check.ts';

/**
 * A row for each case, and then days to look at: the day of each case with the largest difference, and the
 * days that do not match.
 */
export function describeChecked(cases: readonly CheckedCase[]): string {
  const matching = cases.filter(({ verdict }) => verdict === 'matches').length;
  const compared = cases.filter(({ verdict }) => verdict !== 'not compared').length;
  const details = cases.flatMap((one) => {
    const days = one.differing.length > 0 ? one.differing : one.worst ? [one.worst] : [];
    const left = one.compared - one.matching - one.differing.length;
    const more = left > 0 ? [`  and ${left} more that do not match\n`] : [];
    return days.length > 0 ? [`\n${one.name}\n`, ...days.map(describeDay), ...more] : [];
  });
  return [formatTable(columns, cases), ...details, `\n${matching} of ${compared} cases match\n`].join('');
}

const count = (value: number) => value.toLocaleString('en');
const signed = (value: number) => `${value > 0 ? '+' : ''}${count(value)}`;
const right = 'right' as const;

const columns: Array<Column<CheckedCase>> = [
  { title: 'Case', value: ({ name }) => name },
  { title: 'Verdict', value: ({ verdict }) => verdict },
  { title: 'Days', value: ({ compared }) => count(compared), align: right },
  { title: 'Match', value: ({ matching }) => count(matching), align: right },
  { title: 'Missing', value: ({ missing }) => count(missing), align: right },
  { title: 'Extra', value: ({ extra }) => count(extra), align: right },
  { title: 'Worst Wh', value: ({ worst }) => (worst ? signed(worst.differenceWh) : '-'), align: right },
  { title: 'Tolerance', value: ({ worst }) => (worst ? count(worst.toleranceWh) : '-'), align: right },
  { title: 'Messages', value: ({ messages }) => count(messages), align: right },
  { title: 's', value: ({ seconds }) => seconds.toFixed(1), align: right },
  {
    title: 'Rejected',
    value: ({ rejected }) =>
      Object.entries(rejected)
        .map(([reason, readings]) => `${count(readings)} ${reason}`)
        .join(', ') || '-',
  },
];

function describeDay(day: ComparedDay & { why: Why }): string {
  const computed = day.gotWh === null ? 'none' : `${count(day.gotWh)} Wh`;
  const verdict = day.matches ? 'furthest away' : 'DIFFERS';
  return [
    `  ${day.day} ${day.device} ${day.source}, ${verdict}: expected ${count(day.energyWh)} Wh, got ${computed} (${signed(day.differenceWh)}, tolerance ${count(day.toleranceWh)})\n`,
    `    ${describeWhy(day.why)}\n`,
    ...day.why.events.map((event) => `    ${event}\n`),
  ].join('');
}

function describeWhy({ method, flags, coverage, sum }: Why): string {
  if (method === null) return sum;
  const share = coverage === null ? '' : `, coverage ${coverage.toFixed(3)}`;
  return `${method}${share}, ${flags.length > 0 ? flags.join(', ') : 'no flags'}: ${sum}`;
}
