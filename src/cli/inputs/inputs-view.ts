import type { InputState } from '../../inputs/input-counter.ts';
import type { InputOutcome } from '../../inputs/input-outcome.ts';
import { formatCount } from '../../lib/format-count.ts';
import { formatInstant, type UtcMs } from '../../lib/time.ts';
import { describeTrouble, type Trouble } from '../../pipeline/trouble.ts';
import { formatAgo } from '../terminal/format-ago.ts';
import { formatRows, formatTable } from '../terminal/format-table.ts';

/** A table of the inputs, their problems, and the last refused and ignored messages. */
export function describeInputs(
  inputs: readonly InputState[],
  troubles: readonly Trouble[],
  nowMs: UtcMs,
  columnsMax: number,
): string {
  const count = (title: string, of: (input: InputState) => number) => ({
    title,
    value: (input: InputState) => formatCount(of(input)),
    align: 'right' as const,
  });
  const columns = [
    { title: 'Workgroup', value: ({ workgroupId }: InputState) => workgroupId },
    { title: 'Input', value: ({ input }: InputState) => input },
    { title: 'Address', value: ({ address }: InputState) => address },
    { title: 'State', value: ({ connection }: InputState) => (connection === 'idle' ? '-' : connection) },
    {
      title: 'Last',
      value: (one: InputState) => formatAgo(one.lastMessageAtMs, nowMs),
      align: 'right' as const,
    },
    count('A minute', ({ perMinute }) => perMinute),
    count('Received', ({ received }) => received),
    count('Stored', ({ stored }) => stored),
    count('Again', ({ repeated }) => repeated),
    count('Retained', ({ retained }) => retained),
    count('Ignored', ({ ignored }) => ignored),
    count('Refused', ({ refused }) => refused),
  ];
  const problems = inputs.flatMap((input) => [
    ...(input.lastRefused
      ? [
          `refused: ${nameOf(input)}, ${input.lastRefused.about} at ${formatInstant(input.lastRefused.atMs)}: ${input.lastRefused.reason}`,
        ]
      : []),
    ...(input.lastIgnored === undefined ? [] : [`ignored: ${nameOf(input)}, ${input.lastIgnored}`]),
  ]);
  const notes = [...troubles.map((one) => `failing: ${describeTrouble(one)}`), ...problems];
  const table = inputs.length === 0 ? 'no inputs\n' : formatTable(columns, inputs, columnsMax);
  return notes.length === 0 ? table : `${table}\n${notes.join('\n')}\n`;
}

/** The problem of an input in a line; none if it has no problem. */
export function describeInputProblem(input: InputState): string[] {
  const { connection, problem, sinceMs } = input;
  if (problem === undefined) return [];
  return [`input ${nameOf(input)}: ${connection} since ${formatInstant(sinceMs)}: ${problem}`];
}

function nameOf({ workgroupId, input }: InputState): string {
  return `${workgroupId}, ${input}`;
}

/** The result that one rule has for a message or a line. */
export interface TriedRule {
  input: string;
  outcome: InputOutcome;
}

/** @param nameOfDevice the configured name of a device by its id */
export function describeTried(
  tried: readonly TriedRule[],
  nameOfDevice: (id: string) => string | undefined,
): string {
  return tried
    .map(({ input, outcome }) => {
      if (outcome.kind !== 'reading') return `${input}: ${outcome.kind}: ${outcome.reason}\n`;
      const { table, item, hasOwnTime } = outcome;
      const name = nameOfDevice(item.device);
      const rows: Array<[title: string, value: string]> = [
        ['table', table],
        ['device', name === undefined ? item.device : `${item.device} (${name})`],
        ['source', item.source ?? '-'],
        ['time', hasOwnTime ? formatInstant(item.event_time) : 'when the message arrives'],
        ...Object.entries(item.data).map(([field, value]): [string, string] => [
          `field ${field}`,
          String(value),
        ]),
      ];
      const valueTable = formatRows([{ value: ([title]) => title }, { value: ([, value]) => value }], rows);
      return `${input}: a reading\n${valueTable.replace(/^(?=.)/gm, '  ')}`;
    })
    .join('');
}
