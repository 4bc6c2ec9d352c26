import { useContext } from 'preact/hooks';
import { linkTo } from '../app/address.ts';
import type { Balances, DailyEnergy, DayDetails, DeviceStatuses } from '../facts/answers.ts';
import { balanceColumns, type EnergyColumns, seriesColumns, withReference } from '../facts/energy-columns.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { namerOf, seriesOf } from '../facts/series.ts';
import { isSiteKey, siteKey } from '../facts/site-key.ts';
import { TOP_SERIES } from '../facts/top-series.ts';
import { type Answered, SLOW_MS, useAnswer } from '../facts/use-answer.ts';
import { Empty, Shown } from '../parts/states.tsx';
import { comparableName, comparableOf } from '../pictures/bar-data.ts';
import { BarFigure } from '../pictures/bar-figure.tsx';
import { countDays } from '../words/local-days.ts';
import { countText } from '../words/number-words.ts';
import { daysOfColumn, type Grain, type ShownPeriod } from '../words/periods.ts';
import { isBalanceRole } from '../words/role-words.ts';
import { inPeriod, periodName } from '../words/time-words.ts';
import { energySentence } from './energy-sentence.tsx';
import { EnergyTable } from './energy-table.tsx';

/** The most daily values that are read for a picture: about a megabyte. */
const VALUES_MAX = 20_000;
/** The most of them with flags. */
const DETAILS_MAX = 6_000;

/** The days of a request. */
export const daysQuery = ({ from, to }: ShownPeriod) => `startDate=${from}&endDate=${to}`;

/** True if devices can be chosen. */
export function showsDevices(show: string): boolean {
  return show !== 'balance' && show !== 'meters' && !isSiteKey(show);
}

interface PictureProps {
  show: string;
  period: ShownPeriod;
  other: ShownPeriod | undefined;
  grain: Grain;
  balances: Answered<Balances>;
  statuses: DeviceStatuses | undefined;
  roles: ReadonlyMap<string, string>;
  device: string | undefined;
}

/** The picture of a period, with its table. */
export function EnergyPicture(props: PictureProps) {
  const { show, period, other, grain, balances, statuses, roles, device } = props;
  const { workgroup, today, meters } = useContext(PageWorkContext);
  const site = isSiteKey(show) ? show.slice(siteKey('').length) : undefined;
  const isBalance = show === 'balance' || site !== undefined;
  const known = show === 'meters' ? meters.length : Object.keys(statuses ?? {}).length;
  const values = device && showsDevices(show) ? 0 : known * countDays(period.from, period.to);
  const isTooMuch = values > VALUES_MAX;
  // Of these the service can add up the smaller series, which get no separate colour.
  const mayAddUp = show === 'devices' || show === 'sources';
  // Without flags an answer is a third of the size.
  const isLarge = values > DETAILS_MAX;
  const balancePath = (of: ShownPeriod) =>
    `${site === undefined ? '' : `sites/${encodeURIComponent(site)}/`}balance?${daysQuery(of)}&resolution=${grain}`;
  const path = (of: ShownPeriod) => {
    // A balance has no details. Its columns show the flags of the sources, but only if the balance contains
    // all of them.
    if (isBalance && (site !== undefined || grain !== 'day' || isLarge)) return undefined;
    if (!isBalance && isTooMuch && !mayAddUp) return undefined;
    if (show === 'meters') return `meter-data?${daysQuery(of)}`;
    const report = grain === 'day' && !isLarge ? 'daily-energy/details' : 'daily-energy';
    const only = device && !isBalance ? `&devices=${device}` : '';
    const top = isTooMuch && mayAddUp ? `&top=${TOP_SERIES}` : '';
    return `${report}?${daysQuery(of)}${show === 'devices' ? '' : '&groupBy=source'}${only}${top}`;
  };
  const energy = useAnswer<DailyEnergy | DayDetails>(path(period), SLOW_MS);
  const otherEnergy = useAnswer<DailyEnergy | DayDetails>(other && !isBalance && path(other), SLOW_MS);
  const siteBalances = useAnswer<Balances>(site !== undefined && balancePath(period), SLOW_MS);
  const otherBalances = useAnswer<Balances>(other && isBalance && balancePath(other), SLOW_MS);
  const sums = site === undefined ? balances : siteBalances;
  const meterNames = new Map(meters.map(({ code, name }) => [code, name ?? code]));
  const hrefOf = (of: ShownPeriod) => (column: string) => {
    if (grain === 'day') return linkTo(workgroup.id, 'day', { day: column });
    const days = daysOfColumn(column, of);
    return linkTo(workgroup.id, 'energy', {
      from: days.from,
      to: days.to,
      show,
      device,
    });
  };
  const chosen = (key: string) => !isBalanceRole(show) || roles.get(key) === show;
  const made = (
    of: ShownPeriod,
    days: DailyEnergy | DayDetails | undefined,
    sumsOf: Balances | undefined,
  ) => {
    const frame = { period: of, grain, today, hrefOf: hrefOf(of) };
    if (isBalance) return sumsOf && balanceColumns(sumsOf, days as DayDetails | undefined, frame);
    if (!days) return undefined;
    const nameOf =
      show === 'meters' ? (code: string) => meterNames.get(code) ?? code : namerOf(seriesOf(days), statuses);
    return seriesColumns(days, chosen, nameOf, frame);
  };
  if (isTooMuch && !isBalance && !mayAddUp)
    return (
      <Empty title="These are too many values for one picture">
        {countText(known)} {show === 'meters' ? 'meters' : 'devices'} have {countText(values)} daily values in
        this period. Choose a shorter period.
      </Empty>
    );
  return (
    <Shown of={(isBalance ? sums : energy) as Answered<unknown>} what="energy" height={420}>
      {() => {
        const columns = made(period, energy.answer, sums.answer)!;
        const compared = other && made(other, otherEnergy.answer, otherBalances.answer);
        return (
          <EnergyShown
            {...props}
            columns={withReference(columns, compared?.columns, (column) =>
              comparableOf(column, compared!.series),
            )}
            compared={compared}
          />
        );
      }}
    </Shown>
  );
}

function EnergyShown(props: PictureProps & { columns: EnergyColumns; compared: EnergyColumns | undefined }) {
  const { columns, compared, show, period, other, grain } = props;
  const { workgroup, zone, today } = useContext(PageWorkContext);
  if (columns.series.length === 0)
    return (
      <Empty title="No energy in this period">
        Nothing was measured {inPeriod(period)}. A day without any measurement is not a zero.
      </Empty>
    );
  const sentence = energySentence({ ...props, columns, compared, today });
  return (
    <>
      <BarFigure
        sentence={sentence}
        label={`Energy by ${grain}, ${periodName(period)}`}
        columns={columns.columns}
        series={columns.series}
        height={300}
        wholeName={periodName(period)}
        referenceName={
          other && compared ? `${comparableName(compared.series)}${periodName(other)}` : undefined
        }
      />
      <details class="more" open>
        <summary>The same as a table</summary>
        <EnergyTable
          {...columns}
          fileName={`${workgroup.id}-${show.replace(':', '-')}-${period.from}-${period.to}.csv`}
          zone={zone}
        />
      </details>
    </>
  );
}
