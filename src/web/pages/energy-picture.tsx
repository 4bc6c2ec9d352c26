import { useContext } from 'preact/hooks';
import { linkTo } from '../app/address.ts';
import type { Balances, DailyEnergy, DayDetails, DeviceStatuses } from '../facts/answers.ts';
import { balanceColumns, type EnergyColumns, seriesColumns, withReference } from '../facts/energy-columns.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { namerOf, seriesOf } from '../facts/series.ts';
import { type Answered, SLOW_MS, useAnswer } from '../facts/use-answer.ts';
import { Empty, Shown } from '../parts/states.tsx';
import { comparableName, comparableOf } from '../pictures/bar-data.ts';
import { BarFigure } from '../pictures/bar-figure.tsx';
import { countDays } from '../words/local-days.ts';
import { countText } from '../words/number-words.ts';
import { type DaySpan, daysOfColumn, type Grain } from '../words/periods.ts';
import { isBalanceRole } from '../words/role-words.ts';
import { periodName } from '../words/time-words.ts';
import { energySentence } from './energy-sentence.tsx';
import { EnergyTable } from './energy-table.tsx';

/** The most daily values that are read for a picture: about a megabyte. */
const VALUES_MAX = 20_000;
/** The most of them with flags. */
const DETAILS_MAX = 6_000;

/** The days of a request. */
export const daysQuery = ({ from, to }: DaySpan) => `startDate=${from}&endDate=${to}`;

interface PictureProps {
  show: string;
  period: DaySpan;
  other: DaySpan | undefined;
  grain: Grain;
  balances: Answered<Balances>;
  statuses: DeviceStatuses | undefined;
  roles: ReadonlyMap<string, string>;
  device: string | undefined;
}

/** The picture of a period, with its table. */
export function EnergyPicture(props: PictureProps) {
  const { show, period, other, grain, balances, statuses, roles, device } = props;
  const { workgroup, today } = useContext(PageWorkContext);
  const known = Object.keys(statuses ?? {}).length;
  const values = device ? 0 : known * countDays(period.from, period.to);
  const isTooMuch = values > VALUES_MAX;
  // Without flags an answer is a third of the size.
  const isLarge = values > DETAILS_MAX;
  const path = (of: DaySpan) => {
    if (show === 'balance' && (grain !== 'day' || isLarge)) return undefined;
    if (show !== 'balance' && isTooMuch) return undefined;
    const report = grain === 'day' && !isLarge ? 'daily-energy/details' : 'daily-energy';
    const only = device && show !== 'balance' ? `&devices=${device}` : '';
    return `${report}?${daysQuery(of)}${show === 'devices' ? '' : '&groupBy=source'}${only}`;
  };
  const energy = useAnswer<DailyEnergy | DayDetails>(path(period), SLOW_MS);
  const otherEnergy = useAnswer<DailyEnergy | DayDetails>(
    other && show !== 'balance' ? path(other) : undefined,
    SLOW_MS,
  );
  const otherBalances = useAnswer<Balances>(
    other && show === 'balance' ? `balance?${daysQuery(other)}&resolution=${grain}` : undefined,
    SLOW_MS,
  );
  const hrefOf = (of: DaySpan) => (column: string) => {
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
  const made = (of: DaySpan, values: Answered<DailyEnergy | DayDetails>, sums: Answered<Balances>) => {
    const frame = { period: of, grain, today, hrefOf: hrefOf(of) };
    if (show === 'balance')
      return sums.answer && balanceColumns(sums.answer, detailsOf(values.answer), frame);
    return (
      values.answer && seriesColumns(values.answer, chosen, namerOf(seriesOf(values.answer), statuses), frame)
    );
  };
  if (isTooMuch && show !== 'balance')
    return (
      <Empty title="These are too many values for one picture">
        {countText(known)} devices have {countText(values)} daily values in this period. Choose one device, or
        a shorter period.
      </Empty>
    );
  return (
    <Shown of={(show === 'balance' ? balances : energy) as Answered<unknown>} what="energy" height={420}>
      {() => {
        const columns = made(period, energy, balances)!;
        const compared = other && made(other, otherEnergy, otherBalances);
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

function detailsOf(energy: DailyEnergy | DayDetails | undefined): DayDetails | undefined {
  return energy as DayDetails | undefined;
}

function EnergyShown(props: PictureProps & { columns: EnergyColumns; compared: EnergyColumns | undefined }) {
  const { columns, compared, show, period, other, grain } = props;
  const { workgroup, zone, today } = useContext(PageWorkContext);
  if (columns.series.length === 0)
    return (
      <Empty title="No energy in this period">
        Nothing was measured from {periodName(period)}. A day without any measurement is not a zero.
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
          fileName={`${workgroup.id}-${show}-${period.from}-${period.to}.csv`}
          zone={zone}
        />
      </details>
    </>
  );
}
