import { useContext } from 'preact/hooks';
import { linkTo } from '../app/address.ts';
import type { DayChange, DayChanges, DeviceStatuses } from '../facts/answers.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { seriesName } from '../facts/series.ts';
import { RARE_MS, SLOW_MS, useAnswer } from '../facts/use-answer.ts';
import { Choice } from '../parts/choice.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { EnergyAmount } from '../parts/energy-amount.tsx';
import { Empty, Shown } from '../parts/states.tsx';
import { DayTime } from '../parts/time-text.tsx';
import { causeWords, changeKindWords } from '../words/change-words.ts';
import { shiftDay } from '../words/local-days.ts';
import { exactEnergy, formatEnergy, plural } from '../words/number-words.ts';
import { longDay } from '../words/time-words.ts';

const spans: ReadonlyArray<{ key: string; name: string; days: number }> = [
  { key: 'week', name: 'Last week', days: 7 },
  { key: 'month', name: 'Last 30 days', days: 30 },
  { key: 'year', name: 'Last year', days: 365 },
];

/** Days that changed after their period was closed, with the energy before and after, and why. */
export function ChangedDays({ query }: { query: Readonly<Record<string, string>> }) {
  const { workgroup, today } = useContext(PageWorkContext);
  const span = spans.find(({ key }) => key === query.since) ?? spans[0]!;
  const changes = useAnswer<DayChanges>(`daily-energy/changes?since=${shiftDay(today, -span.days)}`, SLOW_MS);
  const statuses = useAnswer<DeviceStatuses>('device-status', RARE_MS);
  const nameOf = ({ device, source }: DayChange) => seriesName(`${device}.${source}`, statuses.answer);
  return (
    <section class="card" aria-labelledby="changes">
      <h2 id="changes">Closed days that have changed</h2>
      <Choice
        label="Changed in"
        chosen={span.key}
        options={spans.map(({ key, name }) => ({
          key,
          name,
          href: linkTo(workgroup.id, 'exports', { ...query, since: key }),
        }))}
      />
      <Shown of={changes} what="changed days" height={200}>
        {({ totals, changes: list }) =>
          list.length === 0 ? (
            <Empty title="No closed day has changed">
              What was reported for closed days in this time is still right.
            </Empty>
          ) : (
            <>
              <p class="sentence">
                <ChangesInWords changes={list} totals={totals} />
              </p>
              <DataTable
                caption="Changed days, last changed first"
                rows={list.toSorted((a, b) => (a.changedAt < b.changedAt ? 1 : -1))}
                keyOf={({ day, device, source }) => `${day} ${device} ${source}`}
                columns={[
                  {
                    title: 'Day',
                    cell: ({ day, device, source }) => (
                      <a href={linkTo(workgroup.id, 'why', { device, source, day })}>{longDay(day)}</a>
                    ),
                  },
                  { title: 'Source', cell: nameOf },
                  {
                    title: 'Before',
                    isNumber: true,
                    cell: ({ before }) => <EnergyAmount wh={before?.energyWh} />,
                  },
                  {
                    title: 'After',
                    isNumber: true,
                    cell: ({ after }) => <EnergyAmount wh={after.energyWh} />,
                  },
                  {
                    title: 'Difference',
                    isNumber: true,
                    cell: ({ differenceWh }) => <SignedEnergy wh={differenceWh} />,
                    sum: <SignedEnergy wh={totals.differenceWh} />,
                  },
                  { title: 'What', cell: ({ kind }) => changeKindWords[kind] ?? kind },
                  {
                    title: 'Because of',
                    cell: ({ causes }) => causes.map((cause) => causeWords[cause] ?? cause).join(', '),
                  },
                  { title: 'Changed', cell: ({ changedAt }) => <DayTime at={changedAt} /> },
                ]}
                file={{
                  name: `${workgroup.id}-changes-${span.key}.csv`,
                  heading: [
                    'day',
                    'device',
                    'source',
                    'name',
                    'kind',
                    'before_wh',
                    'after_wh',
                    'difference_wh',
                    'causes',
                    'changed_at',
                  ],
                  row: (change) => [
                    change.day,
                    change.device,
                    change.source,
                    nameOf(change),
                    change.kind,
                    change.before?.energyWh ?? null,
                    change.after.energyWh,
                    change.differenceWh,
                    change.causes.join(' '),
                    change.changedAt,
                  ],
                }}
              />
            </>
          )
        }
      </Shown>
    </section>
  );
}

/** Days that had no energy before are counted separately, because a missing value is not zero. */
function ChangesInWords({ changes, totals }: Pick<DayChanges, 'changes' | 'totals'>) {
  const added = changes.filter(({ before }) => before === null);
  const addedWh = added.reduce((sum, { after }) => sum + (after.energyWh ?? 0), 0);
  const changed = totals.days - added.length;
  return (
    <>
      {added.length > 0 && (
        <>
          {plural(added.length, 'source day')} got {added.length === 1 ? 'its' : 'their'} first energy after
          being closed: <EnergyAmount wh={addedWh} />.{' '}
        </>
      )}
      {changed > 0 && (
        <>
          {plural(changed, 'source day')} changed after being closed, from{' '}
          <EnergyAmount wh={totals.beforeWh} /> to <EnergyAmount wh={totals.afterWh - addedWh} />: a
          difference of <SignedEnergy wh={totals.differenceWh - addedWh} />.
        </>
      )}
    </>
  );
}

function SignedEnergy({ wh }: { wh: number }) {
  return (
    <data class="amount" value={wh} title={exactEnergy(wh)}>
      {wh > 0 ? '+' : ''}
      {formatEnergy(wh)}
    </data>
  );
}
