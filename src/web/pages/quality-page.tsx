import { useContext, useMemo } from 'preact/hooks';
import { linkTo } from '../app/address.ts';
import type { DayDetails, DeviceStatuses, QualityAnswer } from '../facts/answers.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { daysOfDetails, daysOfQuality, type QualityDays, type QualityOfDay } from '../facts/quality-days.ts';
import { qualityRows } from '../facts/quality-rows.ts';
import { namerOf, splitSeries } from '../facts/series.ts';
import { type Answered, SLOW_MS, useAnswer } from '../facts/use-answer.ts';
import { Choice } from '../parts/choice.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { EnergyAmount } from '../parts/energy-amount.tsx';
import { ExactShare } from '../parts/exact-number.tsx';
import { FlagList } from '../parts/flag-list.tsx';
import { PageLinks, pageOf } from '../parts/page-links.tsx';
import { PeriodPicker } from '../parts/period-picker.tsx';
import { Empty, Shown } from '../parts/states.tsx';
import { StatusWord } from '../parts/status-word.tsx';
import { HeatKey } from '../pictures/heat-key.tsx';
import { HeatMap } from '../pictures/heat-map.tsx';
import type { CellState, HeatRow } from '../pictures/heat-marks.ts';
import { worstRank } from '../words/flag-words.ts';
import { identifierWords } from '../words/identifier-words.ts';
import { countDays, isDay, listDays, shiftDay } from '../words/local-days.ts';
import { countText, plural } from '../words/number-words.ts';
import type { ShownPeriod } from '../words/periods.ts';
import { dayAndMonth, dayTick, inPeriod, longDay, periodName } from '../words/time-words.ts';

const DAYS_MAX = { source: 92, device: 366 };
/**
 * Answers with the energy of more days than this can exceed a megabyte. Devices are then read in a compact
 * form, and sources in pages.
 */
const VALUES_MAX = 4_500;
const SOURCES_OF_DEVICE = 3;
const ROWS_OF_PAGE = 50;
/**
 * At most this many devices are in one picture. More devices are shown in pages, because the address of the
 * request names the devices of a page.
 */
const DEVICES_MAX = 400;
const DEVICES_OF_PAGE = 100;

/** Device by day: what can be trusted, what cannot, and why. */
export function QualityPage({ query }: { query: Readonly<Record<string, string>> }) {
  const { workgroup, today } = useContext(PageWorkContext);
  const statuses = useAnswer<DeviceStatuses>('device-status', SLOW_MS);
  const ids = Object.keys(statuses.answer ?? {});
  const by =
    query.by === 'device' || (query.by !== 'source' && ids.length > ROWS_OF_PAGE) ? 'device' : 'source';
  const period = periodIn(query, today, DAYS_MAX[by]);
  const days = listDays(period.from, period.to);
  const rowsOfPage = rowsOfPageOf(by, ids.length, days.length);
  const { shown: shownIds, page, pages } = pageOf(ids, query.page, rowsOfPage);
  const isCompact = by === 'device' && shownIds.length * days.length > VALUES_MAX;
  const range = `startDate=${period.from}&endDate=${period.to}`;
  const only = pages > 1 ? `&devices=${shownIds.join(',')}` : '';
  const details = useAnswer<DayDetails>(
    statuses.answer &&
      !isCompact &&
      `daily-energy/details?${range}${by === 'source' ? '&groupBy=source' : ''}${only}`,
    SLOW_MS,
  );
  const compact = useAnswer<QualityAnswer>(
    statuses.answer && isCompact && `quality?${range}${only}`,
    SLOW_MS,
  );
  const answers: Answered<unknown> = isCompact ? compact : details;
  const quality = useMemo(
    () =>
      isCompact
        ? compact.answer && daysOfQuality(compact.answer, days)
        : details.answer && daysOfDetails(details.answer, days),
    [isCompact, compact.answer, details.answer, period.from, period.to],
  );
  const link = (change: Readonly<Record<string, string | undefined>>) =>
    linkTo(workgroup.id, 'quality', { ...query, ...change });
  const linkBy = (kind: 'source' | 'device') =>
    link({
      by: kind,
      page: undefined,
      ...(days.length > DAYS_MAX[kind] && { from: undefined, to: undefined }),
    });
  return (
    <>
      <div class="page-head">
        <h1>Quality</h1>
        <PeriodPicker
          period={period}
          today={today}
          linkTo={({ from, to }) =>
            link({ from: countDays(from, to) > DAYS_MAX[by] ? shiftDay(to, 1 - DAYS_MAX[by]) : from, to })
          }
          kinds={by === 'device' ? ['week', 'month', 'year'] : ['week', 'month']}
        />
      </div>
      <div class="controls">
        <Choice
          label="Rows"
          chosen={by}
          options={[
            { key: 'source', name: 'Sources', href: linkBy('source') },
            { key: 'device', name: 'Devices', href: linkBy('device') },
          ]}
        />
      </div>
      <Shown
        of={statuses.answer ? { ...answers, answer: quality } : { ...statuses, answer: undefined }}
        what="the quality of days"
        height={400}
      >
        {(answer) => (
          <QualityOfDevices
            quality={answer}
            by={by}
            ids={shownIds}
            statuses={statuses.answer!}
            period={period}
          />
        )}
      </Shown>
      <PageLinks
        label="Pages of devices"
        pages={pages}
        page={page}
        hrefOf={(one) => link({ page: String(one) })}
      />
    </>
  );
}

function rowsOfPageOf(by: 'source' | 'device', devices: number, days: number): number {
  if (by === 'device') return devices <= DEVICES_MAX ? DEVICES_MAX : DEVICES_OF_PAGE;
  return Math.max(1, Math.min(ROWS_OF_PAGE, Math.floor(VALUES_MAX / SOURCES_OF_DEVICE / days)));
}

/** The picture, and the days that need a look. */
function QualityOfDevices(props: {
  quality: QualityDays;
  by: 'source' | 'device';
  /** The devices that have a row, also without energy. */
  ids: readonly string[];
  statuses: DeviceStatuses;
  period: ShownPeriod;
}) {
  const { quality, by, ids, statuses, period } = props;
  const { workgroup, today } = useContext(PageWorkContext);
  const { days } = quality;
  const hrefOf = (key: string, day: string) => linkToWhy(workgroup.id, key, day);
  const nameOf = namerOf(quality.keys, statuses);
  const { rows, counts, flagged } = useMemo(() => {
    const known = new Set(quality.keys.map((key) => splitSeries(key).device));
    const keys = [...quality.keys, ...ids.filter((id) => !known.has(id))];
    const made = qualityRows(quality, keys, { today, nameOf, hrefOf });
    return { rows: made, counts: countStates(made), flagged: flaggedDays(quality, today) };
  }, [quality, today, statuses]);
  if (quality.keys.length === 0)
    return <Empty title="No energy in this period">Nothing was measured {inPeriod(period)}.</Empty>;
  return (
    <>
      <figure class="figure">
        <figcaption>
          <TrustSentence counts={counts} by={by} />
        </figcaption>
        <HeatMap
          label={`Quality of days, ${periodName(period)}`}
          rows={rows}
          columns={days.map((day) => ({ tick: tickOf(day, days), name: longDay(day) }))}
        />
        <HeatKey present={new Set(counts.keys())} />
      </figure>
      <section class="card" aria-labelledby="flagged">
        <h2 id="flagged">Days to look at</h2>
        {flagged.length === 0 ? (
          <Empty title="None">Every measured day of this period can be trusted.</Empty>
        ) : (
          <FlaggedTable
            flagged={flagged}
            by={by}
            hasEnergy={quality.hasEnergy}
            period={period}
            nameOf={nameOf}
          />
        )}
      </section>
    </>
  );
}

/** How many days can be trusted, and how many cannot. */
function TrustSentence({ counts, by }: { counts: ReadonlyMap<CellState, number>; by: 'source' | 'device' }) {
  const count = (state: CellState) => counts.get(state) ?? 0;
  const known = [...counts].reduce((sum, [state, cells]) => (state === 'future' ? sum : sum + cells), 0);
  return (
    <p class="sentence">
      <ExactShare share={(count('good') + count('noted')) / Math.max(1, known)} /> of{' '}
      {plural(known, `${by} day`)} can be trusted without a look.{' '}
      {count('missing') > 0 &&
        `${countText(count('missing'))} ${count('missing') === 1 ? 'has' : 'have'} no data. `}
      {count('doubtful') > 0 &&
        `${countText(count('doubtful'))} ${areText(count('doubtful'))} partly a guess. `}
      {count('bad') > 0 && `${countText(count('bad'))} ${areText(count('bad'))} not to be trusted. `}
      Rows with the most trouble come first.
    </p>
  );
}

const areText = (count: number) => (count === 1 ? 'is' : 'are');

/** The days with a bad or doubtful flag. */
function FlaggedTable(props: {
  flagged: readonly FlaggedDay[];
  by: 'source' | 'device';
  hasEnergy: boolean;
  period: ShownPeriod;
  nameOf(key: string): string;
}) {
  const { flagged, by, hasEnergy, period, nameOf } = props;
  const { workgroup } = useContext(PageWorkContext);
  return (
    <DataTable
      caption="Days with flags, newest first"
      rows={flagged}
      keyOf={({ key, day }) => `${key} ${day}`}
      columns={[
        {
          title: 'Day',
          cell: ({ key, day }) => <a href={linkToWhy(workgroup.id, key, day)}>{longDay(day)}</a>,
        },
        { title: by === 'source' ? 'Source' : 'Device', cell: ({ key }) => nameOf(key) },
        ...(hasEnergy
          ? [
              {
                title: 'Energy',
                isNumber: true,
                cell: ({ value }: FlaggedDay) => <EnergyAmount wh={value.energyWh} />,
              },
            ]
          : []),
        {
          title: 'Measured',
          isNumber: true,
          cell: ({ value }) => <ExactShare share={value.coverage} />,
        },
        { title: 'Flags', cell: ({ value }) => <FlagList flags={value.flags} /> },
        { title: 'Method', cell: ({ value }) => value.methods.map(identifierWords).join(', ') },
        { title: 'Status', cell: ({ value }) => <StatusWord status={value.status} /> },
      ]}
      file={{
        name: `${workgroup.id}-quality-${period.from}-${period.to}.csv`,
        heading: ['day', 'series', 'name', 'energy_wh', 'coverage', 'flags', 'methods', 'status', 'version'],
        row: ({ key, day, value }) => [
          day,
          key,
          nameOf(key),
          value.energyWh ?? null,
          value.coverage,
          value.flags.join(' '),
          value.methods.join(' '),
          value.status,
          value.version ?? null,
        ],
      }}
    />
  );
}

function linkToWhy(workgroup: string, key: string, day: string): string {
  return linkTo(workgroup, 'why', { ...splitSeries(key), day });
}

/**
 * The label of a day. In a short period each day has its number. In a long period only the first day of a
 * month has a label.
 */
function tickOf(day: string, days: readonly string[]): string {
  if (days.length > DAYS_MAX.source) return day.endsWith('-01') ? dayAndMonth(day) : '';
  return dayTick(day, days[0]!);
}

/** The period of the address, or the last thirty days. */
function periodIn(
  { from, to }: Readonly<Record<string, string>>,
  today: string,
  daysMax: number,
): ShownPeriod {
  if (isDay(from) && isDay(to) && from <= to && countDays(from, to) <= daysMax) return { from, to };
  return { from: shiftDay(today, -29), to: today };
}

function countStates(rows: readonly HeatRow[]): Map<CellState, number> {
  const counts = new Map<CellState, number>();
  for (const { states } of rows) for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1);
  return counts;
}

interface FlaggedDay {
  key: string;
  day: string;
  value: QualityOfDay;
}

/** Days with a bad or doubtful flag, newest first. Today is left out, because it is partial by its nature. */
function flaggedDays(quality: QualityDays, today: string): FlaggedDay[] {
  const days: FlaggedDay[] = [];
  for (let index = quality.days.length - 1; index >= 0; index--) {
    const day = quality.days[index]!;
    if (day >= today) continue;
    for (const key of quality.keys) {
      const value = quality.at(key, index);
      if (value && value.flags.length > 0 && ['bad', 'doubtful'].includes(worstRank(value.flags) ?? ''))
        days.push({ key, day, value });
    }
  }
  return days;
}
