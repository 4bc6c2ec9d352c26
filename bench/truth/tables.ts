import { type Column, formatTable } from '../../src/cli/terminal/format-table.ts';
import { type Category, categories, plainFlags } from './category.ts';
import { offWhOf, type ScoredDay, type ScoredRecording } from './score.ts';

/** Recordings of one kind. */
interface Row {
  title: string;
  recordings: ScoredRecording[];
}

const count = (value: number) => value.toLocaleString('en');
const wh = (value: number) =>
  Math.abs(value) < 1e12 ? Math.round(value).toLocaleString('en') : value.toExponential(2);
const right = 'right' as const;

/** One table by kind of fault, one by configuration, and the totals. */
export function describeScores(recordings: readonly ScoredRecording[]): string {
  const byFault = rowsBy(recordings, ({ faults }) =>
    faults.length > 1 ? 'two faults' : (faults[0] ?? 'clean'),
  );
  const byConfiguration = rowsBy(recordings, ({ configuration }) => configuration);
  byConfiguration.sort((one, other) => one.title.localeCompare(other.title));
  const total: Row = { title: 'total', recordings: [...recordings] };
  return [
    formatTable(columnsOf('Fault'), [...byFault, total]),
    formatTable(columnsOf('Configuration'), [...byConfiguration, total]),
    explanation,
  ].join('\n');
}

const explanation = `Days that can be known are exact (within 1 % or 50 Wh), near (within 5 % or 200 Wh), wrong with a flag that says doubt, wrong and silent,
absurd (3 times the truth and a kWh more, or more than the device can give), missing or thrown. Of days that cannot be known ("?") it is asked
only that they are not absurd and say doubt: "?bad" do not. Every flag says doubt but ${[...plainFlags].join(', ')}.
`;

/** In the order of the first recording of each kind: the clean ones first, then the kinds of faults. */
function rowsBy(recordings: readonly ScoredRecording[], title: (one: ScoredRecording) => string): Row[] {
  return [...Map.groupBy(recordings, title)].map(([name, group]) => ({ title: name, recordings: group }));
}

function columnsOf(title: string): Array<Column<Row>> {
  const number = (name: string, isCounted: (day: ScoredDay) => boolean): Column<Row> => ({
    title: name,
    value: (row) => count(daysOf(row).filter(isCounted).length).replace(/^0$/, '-'),
    align: right,
  });
  return [
    { title, value: (row) => row.title },
    { title: 'Rec', value: (row) => count(row.recordings.length), align: right },
    number('Days', () => true),
    ...categories.map((category) =>
      number(titles[category], (day) => isKnown(day) && day.category === category),
    ),
    number('?', (day) => !isKnown(day)),
    number('?bad', (day) => !isKnown(day) && !day.isAcceptable),
    {
      title: 'Good %',
      value: (row) => (100 * goodShare(row.recordings)).toFixed(1),
      align: right,
    },
  ];
}

const titles: Readonly<Record<Category, string>> = {
  exact: 'Exact',
  near: 'Near',
  flagged: 'Flagged',
  silent: 'Silent',
  absurd: 'Absurd',
  missing: 'Missing',
  thrown: 'Thrown',
};

function isKnown({ truth }: ScoredDay): boolean {
  return truth.isKnowable;
}

function daysOf({ recordings }: Pick<Row, 'recordings'>): ScoredDay[] {
  return recordings.flatMap(({ days }) => days);
}

/** The share of days that are as good as they can be, from 0 to 1. */
export function goodShare(recordings: readonly ScoredRecording[]): number {
  const days = daysOf({ recordings: [...recordings] });
  return days.filter((day) => day.isAcceptable).length / Math.max(1, days.length);
}

/**
 * The share of days that mislead nobody. They are not silently wrong, absurd or missing, and their roll-up
 * has not failed.
 */
export function honestShare(recordings: readonly ScoredRecording[]): number {
  const days = daysOf({ recordings: [...recordings] });
  const honest = days.filter((day) => day.isAcceptable || day.category === 'flagged');
  return honest.length / Math.max(1, days.length);
}

const severity: readonly Category[] = ['exact', 'near', 'flagged', 'missing', 'silent', 'absurd', 'thrown'];

interface Worst {
  recording: ScoredRecording;
  day: ScoredDay;
  /** Days of the recording that are not as good as they can be. */
  bad: number;
}

/** The worst day of each of the worst recordings. */
export function describeWorst(recordings: readonly ScoredRecording[], most: number): string {
  const worst = recordings
    .flatMap((recording): Worst[] => {
      const bad = recording.days.filter((day) => !day.isAcceptable).sort(worstFirst);
      return bad[0] ? [{ recording, day: bad[0], bad: bad.length }] : [];
    })
    .sort((one, other) => worstFirst(one.day, other.day));
  return formatTable(worstColumns, worst.slice(0, most));
}

function worstFirst(one: ScoredDay, other: ScoredDay): number {
  return (
    severity.indexOf(other.category) - severity.indexOf(one.category) ||
    offWhOf(other) / (other.truth.highWh + 1_000) - offWhOf(one) / (one.truth.highWh + 1_000)
  );
}

const worstColumns: Array<Column<Worst>> = [
  { title: 'Recording', value: ({ recording }) => recording.id },
  { title: 'Configuration', value: ({ recording }) => recording.configuration },
  { title: 'Bad', value: ({ bad }) => count(bad), align: right },
  { title: 'Day', value: ({ day }) => day.truth.day },
  { title: 'Category', value: ({ day }) => `${day.category}${day.truth.isKnowable ? '' : ' ?'}` },
  { title: 'Truth Wh', value: ({ day }) => truthText(day), align: right },
  { title: 'Answer Wh', value: ({ day }) => (day.answer ? wh(day.answer.energyWh) : 'none'), align: right },
  { title: 'Method', value: ({ day }) => day.answer?.method ?? '' },
  {
    title: 'Flags',
    value: ({ day, recording }) => day.answer?.flags.join(' ') ?? recording.thrown?.slice(0, 80) ?? '',
  },
];

/** One number, or two numbers if the truth lies between them. */
function truthText({ truth: { lowWh, highWh } }: ScoredDay): string {
  return highWh - lowWh <= 1 ? wh(highWh) : `${wh(lowWh)} to ${wh(highWh)}`;
}

/** Every day as CSV, so that two runs can be compared line by line. */
export function daysCsv(recordings: readonly ScoredRecording[]): string {
  const lines = recordings.flatMap(({ id, configuration, days }) =>
    days.map(({ truth, answer, category, isAcceptable }) =>
      [
        id,
        `"${configuration}"`,
        truth.day,
        truth.isKnowable,
        truth.lowWh.toFixed(1),
        truth.highWh.toFixed(1),
        truth.allowanceWh.toFixed(1),
        answer?.energyWh ?? '',
        answer?.method ?? '',
        answer?.flags.join(' ') ?? '',
        category,
        isAcceptable,
      ].join(','),
    ),
  );
  const columns =
    'recording,configuration,day,knowable,low_wh,high_wh,allowance_wh,answer_wh,method,flags,category,good';
  return `${[columns, ...lines].join('\n')}\n`;
}
