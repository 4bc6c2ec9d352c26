import { useContext } from 'preact/hooks';
import { linkTo } from '../app/address.ts';
import type {
  Balances,
  DayChanges,
  DayDetails,
  DeviceStatuses,
  PipelineStatus,
  Profiles,
} from '../facts/answers.ts';
import { findAttention } from '../facts/attention.ts';
import { balanceColumns, seriesColumns } from '../facts/energy-columns.ts';
import { completeUpTo, firstDayOf } from '../facts/overview-facts.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { daysOfDetails } from '../facts/quality-days.ts';
import { qualityRows } from '../facts/quality-rows.ts';
import { namerOf, rolesOf, rolesOfDevices, seriesOf, splitSeries } from '../facts/series.ts';
import { LIVE_MS, SLOW_MS, useAnswer } from '../facts/use-answer.ts';
import { Empty, Shown } from '../parts/states.tsx';
import { BarFigure } from '../pictures/bar-figure.tsx';
import { HeatKey } from '../pictures/heat-key.tsx';
import { HeatMap } from '../pictures/heat-map.tsx';
import type { HeatRow } from '../pictures/heat-marks.ts';
import { countDays, listDays, monthStart, shiftDay } from '../words/local-days.ts';
import { countText } from '../words/number-words.ts';
import { dayTick, longDay } from '../words/time-words.ts';
import { energySentence } from './energy-sentence.tsx';
import { AttentionList, OverviewState } from './overview-state.tsx';
import { OverviewTiles } from './overview-tiles.tsx';

const DAYS = { usual: 30, manyMost: 7, manyLeast: 2, least: 7 };
/**
 * More devices than this are shown without their sources, and with fewer days, so that an answer stays below
 * a megabyte.
 */
const MANY_DEVICES = 150;
const VALUES_OF_MANY = 4_500;
/** A list with at most this many lines takes the whole width, with nothing next to it. */
const CALM_MAX = 2;
const ROWS_MAX = 12;

/** One state with its reason, yesterday and today, what needs attention, and the last thirty days. */
export function OverviewPage() {
  const { workgroup, today } = useContext(PageWorkContext);
  const statuses = useAnswer<DeviceStatuses>('device-status');
  const devices = Object.keys(statuses.answer ?? {}).length;
  const isMany = devices > MANY_DEVICES;
  const count = isMany
    ? Math.max(DAYS.manyLeast, Math.min(DAYS.manyMost, Math.floor(VALUES_OF_MANY / devices)))
    : DAYS.usual;
  const bySource = isMany ? '' : '&groupBy=source';
  const readFrom = [shiftDay(today, 1 - count), count === DAYS.usual ? monthStart(today) : today].sort()[0]!;
  const days = statuses.answer && `startDate=${readFrom}&endDate=${today}`;
  const details = useAnswer<DayDetails>(days && `daily-energy/details?${days}${bySource}`, SLOW_MS);
  const balances = useAnswer<Balances>(days && workgroup.maySeeAll && `balance?${days}`, SLOW_MS);
  const profile = useAnswer<Profiles>(
    statuses.answer && `interval-energy?startDate=${today}&endDate=${today}${bySource}`,
    isMany ? SLOW_MS : LIVE_MS,
  );
  const quarters = useAnswer<Balances>(
    statuses.answer &&
      !isMany &&
      workgroup.maySeeAll &&
      `balance?startDate=${today}&endDate=${today}&resolution=interval`,
    SLOW_MS,
  );
  const changes = useAnswer<DayChanges>(`daily-energy/changes?since=${shiftDay(today, -7)}`, SLOW_MS);
  const pipeline = useAnswer<PipelineStatus>(workgroup.maySeeAll && 'status', SLOW_MS);
  const isDecided =
    statuses.answer &&
    (!workgroup.maySeeAll || balances.answer !== undefined || balances.failure !== undefined);
  return (
    <>
      <h1 class="visually-hidden">Overview</h1>
      <Shown
        of={
          isDecided ? details : { ...details, answer: undefined, failure: statuses.failure, isLoading: true }
        }
        what="the overview"
        height={600}
      >
        {(answer) => (
          <Overview
            most={count}
            isMany={isMany}
            hasMonth={readFrom <= monthStart(today)}
            details={answer}
            statuses={statuses.answer!}
            balances={balances.answer}
            profile={profile.answer?.[today]}
            quarters={quarters.answer}
            changes={changes.answer}
            pipeline={pipeline.answer}
          />
        )}
      </Shown>
    </>
  );
}

function Overview(props: {
  /** The most days of the pictures. */
  most: number;
  /** True if the values are those of devices, not of their sources. */
  isMany: boolean;
  hasMonth: boolean;
  details: DayDetails;
  statuses: DeviceStatuses;
  balances: Balances | undefined;
  profile: Profiles[string] | undefined;
  /** The balance of each interval of today. */
  quarters: Balances | undefined;
  changes: DayChanges | undefined;
  pipeline: PipelineStatus | undefined;
}) {
  const { most, isMany, hasMonth, details, statuses, balances, profile, quarters } = props;
  const { workgroup, today, zone } = useContext(PageWorkContext);
  // Days before the first data say nothing.
  const firstDay = firstDayOf(details) ?? today;
  const count = Math.min(most, Math.max(DAYS.least, countDays(firstDay, today)));
  const from = shiftDay(today, 1 - count);
  const roles = isMany ? rolesOfDevices(balances) : rolesOf(balances);
  const keys = seriesOf(details);
  const nameOf = namerOf(keys, statuses);
  const attention = findAttention({ ...props, workgroup: workgroup.id, today, nameOf });
  if (keys.length === 0)
    return (
      <>
        <Empty title="No energy yet">
          Nothing was measured in the last {most} days. Send readings to this workgroup, or import what you
          have. The page shows them within seconds.
        </Empty>
        {attention.length > 0 && <AttentionCard attention={attention} />}
      </>
    );
  const frame = {
    period: { from, to: today },
    grain: 'day' as const,
    today,
    hrefOf: (day: string) => linkTo(workgroup.id, 'day', { day }),
  };
  const hasBalance = balances && new Set(rolesOf(balances).values()).size > 1;
  const figure = hasBalance
    ? balanceColumns(balances, details, frame)
    : seriesColumns(details, () => true, nameOf, frame);
  const days = listDays(from, today);
  const rows = qualityRows(daysOfDetails(details, days), keys, {
    today,
    nameOf,
    hrefOf: (key, day) => linkTo(workgroup.id, 'why', { ...splitSeries(key), day }),
  });
  return (
    <div class={`overview ${attention.length <= CALM_MAX ? 'calm' : ''}`}>
      <OverviewState
        attention={attention}
        statuses={statuses}
        completeMs={completeUpTo(profile, statuses)}
        zone={zone}
      />
      <OverviewTiles
        details={details}
        balances={balances}
        roles={roles}
        profile={profile}
        quarters={quarters}
        hasMonth={hasMonth}
      />
      <AttentionCard attention={attention} area="area-attention" />
      <section class="card area-days" aria-labelledby="days">
        <h2 id="days">Last {count} days</h2>
        <BarFigure
          sentence={
            <>
              {energySentence({
                show: hasBalance ? 'balance' : isMany ? 'devices' : 'sources',
                period: frame.period,
                other: undefined,
                grain: 'day',
                columns: figure,
                compared: undefined,
                today,
              })}{' '}
              <a href={linkTo(workgroup.id, 'energy')}>More about energy</a>
            </>
          }
          label={`Energy of the last ${count} days`}
          columns={figure.columns}
          series={figure.series}
          height={220}
          wholeName={`Last ${count} days`}
        />
      </section>
      <section class="card area-quality" aria-labelledby="quality">
        <h2 id="quality">Quality of the last {count} days</h2>
        <QualityFigure rows={rows} days={days} isMany={isMany} />
      </section>
    </div>
  );
}

function AttentionCard(props: { attention: ReturnType<typeof findAttention>; area?: string }) {
  const { attention, area } = props;
  return (
    <section class={area ? `card ${area}` : 'card'} aria-labelledby="attention">
      <h2 id="attention">Needs attention</h2>
      <AttentionList attention={attention} />
    </section>
  );
}

/** The rows with the most trouble. */
function QualityFigure(props: { rows: readonly HeatRow[]; days: readonly string[]; isMany: boolean }) {
  const { rows, days, isMany } = props;
  const { workgroup } = useContext(PageWorkContext);
  const heatRows = rows.slice(0, ROWS_MAX);
  return (
    <figure class="figure">
      <figcaption>
        <p class="sentence">
          {rows.length > ROWS_MAX
            ? `The ${ROWS_MAX} ${isMany ? 'devices' : 'sources'} with the most trouble, of ${countText(rows.length)}. `
            : `Each row is a ${isMany ? 'device' : 'source'}, each cell a day. `}
          <a href={linkTo(workgroup.id, 'quality')}>All of them</a>
        </p>
      </figcaption>
      <HeatMap
        label={`Quality of the last ${days.length} days`}
        rows={heatRows}
        columns={days.map((day) => ({ tick: dayTick(day, days[0]!), name: longDay(day) }))}
        rowHeight={20}
      />
      <HeatKey present={new Set(heatRows.flatMap(({ states }) => states))} />
    </figure>
  );
}
