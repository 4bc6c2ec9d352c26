import type { ExplainedSource } from '../facts/answers.ts';
import { formatValue } from '../words/number-words.ts';
import { DataTable } from './data-table.tsx';
import { ExactDuration, ExactPower } from './exact-number.tsx';

type Limits = NonNullable<ExplainedSource['limits']>;

const rows: ReadonlyArray<{ key: keyof Limits; name: string; unit: 'W' | 'Wh' | 'ms' }> = [
  { key: 'maxPowerW', name: 'Highest power that is believed', unit: 'W' },
  { key: 'jitterWh', name: 'Falls of a register that are ignored', unit: 'Wh' },
  { key: 'resolutionWh', name: 'Step of the register', unit: 'Wh' },
  { key: 'modulusWh', name: 'The register begins again at', unit: 'Wh' },
  { key: 'maxGapMilliseconds', name: 'Longest gap between samples of power', unit: 'ms' },
  { key: 'intervalMilliseconds', name: 'Length of an interval', unit: 'ms' },
];

/**
 * The limits by which readings are judged, and where each comes from. Limits that do not apply are left out.
 */
export function LimitTable({ limits }: { limits: Limits }) {
  return (
    <DataTable
      caption="Limits"
      rows={rows.filter(({ key }) => limits[key].value !== null || limits[key].from === 'configured')}
      keyOf={({ key }) => key}
      columns={[
        { title: 'Limit', cell: ({ name }) => name },
        {
          title: 'Value',
          isNumber: true,
          cell: ({ key, unit }) => <LimitValue value={limits[key].value} unit={unit} />,
        },
        { title: 'From', cell: ({ key }) => limits[key].from },
        { title: 'Why', cell: ({ key }) => limits[key].text },
      ]}
    />
  );
}

function LimitValue({ value, unit }: { value: number | null; unit: 'W' | 'Wh' | 'ms' }) {
  if (value === null) return <>–</>;
  if (unit === 'ms') return <ExactDuration ms={value} />;
  return unit === 'W' ? <ExactPower watts={value} /> : <>{formatValue(value)}&nbsp;Wh</>;
}
