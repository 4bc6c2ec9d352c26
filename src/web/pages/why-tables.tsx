import { useContext, useState } from 'preact/hooks';
import type { Explained, ExplainedSource } from '../facts/answers.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { spanOf } from '../facts/why-points.ts';
import { DataTable } from '../parts/data-table.tsx';
import { EnergyAmount } from '../parts/energy-amount.tsx';
import { ExactShare } from '../parts/exact-number.tsx';
import { FlagList } from '../parts/flag-list.tsx';
import { flagName } from '../words/flag-words.ts';
import { identifierWords } from '../words/identifier-words.ts';
import { exactEnergy, formatValue, plural } from '../words/number-words.ts';
import { clockTimeToSecond, dayAndTime } from '../words/time-words.ts';

/** The parts that add up to the day: segments of a register, or quarters of an hour. */
export function SumTable({ source, dayEnd }: { source: ExplainedSource; dayEnd: string }) {
  const { zone } = useContext(PageWorkContext);
  const { segments, boundaries } = source;
  if (segments.length === 0) return null;
  const endTime = (to: string) => (to === dayEnd ? '24:00:00' : clockTimeToSecond(to, zone));
  return (
    <>
      <DataTable
        caption="Segments of the register"
        rows={segments}
        keyOf={({ from }) => from}
        columns={[
          { title: 'Time', cell: ({ from, to }) => `${clockTimeToSecond(from, zone)} – ${endTime(to)}` },
          { title: 'Index at the start, Wh', isNumber: true, cell: ({ fromWh }) => formatValue(fromWh) },
          { title: 'Index at the end, Wh', isNumber: true, cell: ({ toWh }) => formatValue(toWh) },
          { title: 'Energy', isNumber: true, cell: ({ energyWh }) => exactEnergy(energyWh) },
          { title: 'Begins with', cell: ({ begins }) => flagName(begins) },
        ]}
      />
      {boundaries && (
        <p class="muted">
          The day begins: {boundaries.start.text}. It ends: {boundaries.end.text}.
        </p>
      )}
    </>
  );
}

export function ReadingTable(props: {
  explained: Explained;
  source: ExplainedSource;
  onPick(span: { from: string; to: string }): void;
}) {
  const { explained, source, onPick } = props;
  const { zone, workgroup } = useContext(PageWorkContext);
  const [onlyUnused, setOnlyUnused] = useState(false);
  const rows = onlyUnused ? source.readings.filter(({ fate }) => fate !== 'used') : source.readings;
  return (
    <>
      <label class="check">
        <input
          type="checkbox"
          checked={onlyUnused}
          onChange={(event) => setOnlyUnused(event.currentTarget.checked)}
        />
        Only readings that are not used
      </label>
      {source.readingsLeftOut > 0 && (
        <p class="muted">
          {plural(source.readingsLeftOut, 'more reading is', 'more readings are')} not listed.
        </p>
      )}
      <DataTable
        caption="Readings"
        rows={rows}
        keyOf={({ time, batch, value, fate }) => `${time} ${batch} ${value} ${fate}`}
        columns={[
          {
            title: `Time (${zone})`,
            cell: ({ time }) =>
              dayAndTime(time, zone).replace(/\d\d:\d\d$/, '') + clockTimeToSecond(time, zone),
          },
          {
            title: source.result?.method === 'power_curve' ? 'Value, W' : 'Value, Wh',
            isNumber: true,
            cell: ({ value, text }) => (value === null ? (text ?? '–') : formatValue(value)),
          },
          { title: 'What became of it', cell: ({ fate }) => fate },
          { title: 'Why', cell: ({ reason }) => reason ?? '' },
          ...(workgroup.mayCorrect
            ? [
                {
                  title: 'Correct',
                  cell: ({ time, fate }: ExplainedSource['readings'][number]) =>
                    fate === 'excluded' || fate === 'rejected' ? (
                      ''
                    ) : (
                      <button type="button" class="button quiet" onClick={() => onPick(spanOf(time))}>
                        Leave out
                        <span class="visually-hidden"> the reading of {clockTimeToSecond(time, zone)}</span>
                      </button>
                    ),
                },
              ]
            : []),
        ]}
        file={{
          name: `${explained.device}-${source.source}-${explained.day}-readings.csv`,
          heading: ['time', 'value', 'fate', 'reason', 'batch', 'landed_at'],
          row: ({ time, value, fate, reason, batch, landedAt }) => [
            time,
            value,
            fate,
            reason,
            batch,
            landedAt,
          ],
        }}
      />
    </>
  );
}

export function StreamTable({ source }: { source: ExplainedSource }) {
  return (
    <DataTable
      caption="Fields"
      rows={source.streams}
      keyOf={({ place }) => String(place)}
      columns={[
        { title: 'Field', cell: ({ table, field }) => `${table}.${field}` },
        { title: 'Method', cell: ({ method }) => identifierWords(method) },
        { title: 'Unit', cell: ({ unit }) => unit },
        { title: 'Energy', isNumber: true, cell: ({ energyWh }) => <EnergyAmount wh={energyWh} /> },
        {
          title: 'Measured',
          isNumber: true,
          cell: ({ coverage }) => <ExactShare share={coverage} />,
        },
        { title: 'Used', cell: ({ chosen }) => (chosen ? 'yes' : 'no') },
        { title: 'Why', cell: ({ reason }) => reason },
      ]}
    />
  );
}

export function VersionTable({ source }: { source: ExplainedSource }) {
  const { zone } = useContext(PageWorkContext);
  return (
    <DataTable
      caption="Versions, newest first"
      rows={source.versions.toReversed()}
      keyOf={({ version }) => String(version)}
      columns={[
        { title: 'Version', cell: ({ version }) => version },
        {
          title: 'Energy',
          isNumber: true,
          cell: ({ energyWh }) => (energyWh === null ? 'none' : exactEnergy(energyWh)),
        },
        { title: 'Computed', cell: ({ computedAt }) => dayAndTime(computedAt, zone) },
        { title: 'Flags', cell: ({ flags }) => <FlagList flags={flags} /> },
        { title: 'What changed, and why', cell: ({ text }) => text },
      ]}
    />
  );
}
