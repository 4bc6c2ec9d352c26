import { useContext } from 'preact/hooks';
import { linkTo } from '../app/address.ts';
import type { DayDetails, DeviceStatuses } from '../facts/answers.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { qualityRows } from '../facts/quality-rows.ts';
import { namerOf, seriesOf, splitSeries } from '../facts/series.ts';
import { SLOW_MS, useAnswer } from '../facts/use-answer.ts';
import { Choice } from '../parts/choice.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { EnergyAmount } from '../parts/energy-amount.tsx';
import { FlagList, StatusWord } from '../parts/flag-list.tsx';
import { PeriodPicker } from '../parts/period-picker.tsx';
import { Empty, Shown } from '../parts/states.tsx';
import { type CellState, HeatKey, HeatMap } from '../pictures/heat-map.tsx';
import { worstRank } from '../words/flag-words.ts';
import { countDays, isDay, listDays, shiftDay } from '../words/local-days.ts';
import { countText, formatShare, plural } from '../words/number-words.ts';
import type { DaySpan } from '../words/periods.ts';
import { dateNumber, dayAndMonth, longDay, periodName } from '../words/time-words.ts';

const DAYS_MAX = 92;
const ROWS_OF_PAGE = 50;

/** Device by day: what can be trusted, what cannot, and why. */
export function QualityPage({ query }: { query: Readonly<Record<string, string>> }) {
  const { workgroup, today } = useContext(PageWorkContext);
  const period = periodIn(query, today);
  const bySource = query.by !== 'device';
  const page = Math.max(1, Number.parseInt(query.page ?? '1', 10) || 1);
  const statuses = useAnswer<DeviceStatuses>('device-status', SLOW_MS);
  const ids = Object.keys(statuses.answer ?? {});
  const pages = Math.max(1, Math.ceil(ids.length / ROWS_OF_PAGE));
  const shownIds = ids.slice(
    (Math.min(page, pages) - 1) * ROWS_OF_PAGE,
    Math.min(page, pages) * ROWS_OF_PAGE,
  );
  const only = pages > 1 ? `&devices=${shownIds.join(',')}` : '';
  const details = useAnswer<DayDetails>(
    statuses.answer &&
      `daily-energy/details?startDate=${period.from}&endDate=${period.to}${bySource ? '&groupBy=source' : ''}${only}`,
    SLOW_MS,
  );
  const link = (change: Readonly<Record<string, string | undefined>>) =>
    linkTo(workgroup.id, 'quality', { ...query, ...change });
  const days = listDays(period.from, period.to);
  const hrefOf = (key: string, day: string) =>
    linkTo(workgroup.id, 'why', { device: splitSeries(key).device, source: splitSeries(key).source, day });
  return (
    <>
      <div class="page-head">
        <h1>Quality</h1>
        <PeriodPicker
          period={period}
          today={today}
          linkTo={({ from, to }) =>
            link({ from: countDays(from, to) > DAYS_MAX ? shiftDay(to, 1 - DAYS_MAX) : from, to })
          }
          kinds={['week', 'month']}
        />
      </div>
      <div class="controls">
        <Choice
          label="Rows"
          chosen={bySource ? 'source' : 'device'}
          options={[
            { key: 'source', name: 'Sources', href: link({ by: undefined }) },
            { key: 'device', name: 'Devices', href: link({ by: 'device' }) },
          ]}
        />
        {pages > 1 && (
          <nav class="choice" aria-label="Devices">
            {Array.from({ length: pages }, (_, index) => (
              <a
                key={index}
                href={link({ page: String(index + 1) })}
                aria-current={index + 1 === Math.min(page, pages) ? 'true' : undefined}
              >
                {countText(index * ROWS_OF_PAGE + 1)}–
                {countText(Math.min(ids.length, (index + 1) * ROWS_OF_PAGE))}
              </a>
            ))}
          </nav>
        )}
      </div>
      <Shown
        of={statuses.answer ? details : { ...details, isLoading: true }}
        what="the quality of days"
        height={400}
      >
        {(answer) => {
          const found = new Set(seriesOf(answer));
          const nameOf = namerOf(found, statuses.answer);
          const silent = shownIds.filter((id) => ![...found].some((key) => key.startsWith(id)));
          const keys = [...found, ...silent];
          if (found.size === 0)
            return (
              <Empty title="No energy in this period">Nothing was measured from {periodName(period)}.</Empty>
            );
          const rows = qualityRows(answer, keys, days, { today, nameOf, hrefOf });
          const cells = rows.flatMap((row) => row.cells).filter(({ state }) => state !== 'future');
          const count = (...states: CellState[]) =>
            cells.filter(({ state }) => states.includes(state)).length;
          const flagged = flaggedDays(answer, today);
          return (
            <>
              <figure class="figure">
                <figcaption>
                  <p class="sentence">
                    {formatShare(count('good', 'noted') / Math.max(1, cells.length))} of{' '}
                    {plural(cells.length, bySource ? 'source day' : 'device day')} can be trusted without a
                    look.{' '}
                    {count('missing') > 0 &&
                      `${countText(count('missing'))} ${count('missing') === 1 ? 'has' : 'have'} no data. `}
                    {count('doubtful') > 0 &&
                      `${countText(count('doubtful'))} ${areText(count('doubtful'))} partly a guess. `}
                    {count('bad') > 0 &&
                      `${countText(count('bad'))} ${areText(count('bad'))} not to be trusted. `}
                    Rows with the most trouble come first.
                  </p>
                </figcaption>
                <HeatMap
                  label={`Quality of days, ${periodName(period)}`}
                  rows={rows}
                  columns={days.map((day) => ({
                    key: day,
                    tick: day.endsWith('-01') || day === days[0] ? dayAndMonth(day) : dateNumber(day),
                    name: longDay(day),
                  }))}
                />
                <HeatKey present={new Set(cells.map(({ state }) => state))} />
              </figure>
              <h2>Days to look at</h2>
              {flagged.length === 0 ? (
                <Empty title="None">Every measured day of this period can be trusted.</Empty>
              ) : (
                <DataTable
                  caption="Days with flags, newest first"
                  rows={flagged}
                  keyOf={({ key, day }) => `${key} ${day}`}
                  columns={[
                    { title: 'Day', cell: ({ key, day }) => <a href={hrefOf(key, day)}>{longDay(day)}</a> },
                    { title: bySource ? 'Source' : 'Device', cell: ({ key }) => nameOf(key) },
                    {
                      title: 'Energy',
                      isNumber: true,
                      cell: ({ value }) => <EnergyAmount wh={value.energyWh} />,
                    },
                    { title: 'Measured', isNumber: true, cell: ({ value }) => formatShare(value.coverage) },
                    { title: 'Flags', cell: ({ value }) => <FlagList flags={value.flags} /> },
                    { title: 'Method', cell: ({ value }) => value.methods.join(', ').replaceAll('_', ' ') },
                    { title: 'Status', cell: ({ value }) => <StatusWord status={value.status} /> },
                  ]}
                  file={{
                    name: `${workgroup.id}-quality-${period.from}-${period.to}.csv`,
                    heading: [
                      'day',
                      'series',
                      'name',
                      'energy_wh',
                      'coverage',
                      'flags',
                      'methods',
                      'status',
                      'version',
                    ],
                    row: ({ key, day, value }) => [
                      day,
                      key,
                      nameOf(key),
                      value.energyWh,
                      value.coverage,
                      value.flags.join(' '),
                      value.methods.join(' '),
                      value.status,
                      value.version,
                    ],
                  }}
                />
              )}
            </>
          );
        }}
      </Shown>
    </>
  );
}

const areText = (count: number) => (count === 1 ? 'is' : 'are');

/** The period of the address, or the last thirty days. */
function periodIn({ from, to }: Readonly<Record<string, string>>, today: string): DaySpan {
  if (isDay(from) && isDay(to) && from <= to && countDays(from, to) <= DAYS_MAX) return { from, to };
  return { from: shiftDay(today, -29), to: today };
}

/** Days with a bad or doubtful flag, newest first. Today is left out, because it is partial by its nature. */
function flaggedDays(details: DayDetails, today: string) {
  return Object.entries(details)
    .filter(([day]) => day < today)
    .sort(([a], [b]) => (a < b ? 1 : -1))
    .flatMap(([day, values]) =>
      Object.entries(values)
        .filter(([, value]) => ['bad', 'doubtful'].includes(worstRank(value.flags) ?? ''))
        .map(([key, value]) => ({ key, day, value })),
    );
}
