import { useContext } from 'preact/hooks';
import { linkTo } from '../app/address.ts';
import type { Balances, DailyEnergy, DayDetails, DeviceStatuses } from '../facts/answers.ts';
import { balanceColumns, type EnergyColumns, seriesColumns, withReference } from '../facts/energy-columns.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { namerOf, rolesOf, seriesName, seriesOf } from '../facts/series.ts';
import { type Answered, useAnswer } from '../facts/use-answer.ts';
import { Choice, Select } from '../parts/choice.tsx';
import { PeriodPicker } from '../parts/period-picker.tsx';
import { Empty, Loading, Shown } from '../parts/states.tsx';
import { comparableName, comparableOf } from '../pictures/bar-data.ts';
import { BarFigure } from '../pictures/bar-figure.tsx';
import { countDays, isDay, shiftDay } from '../words/local-days.ts';
import { countText } from '../words/number-words.ts';
import {
  type DaySpan,
  daysOfColumn,
  type Grain,
  grainOf,
  shiftPeriod,
  yearBefore,
} from '../words/periods.ts';
import { type BalanceRole, isBalanceRole, roleWords, stackedRoles } from '../words/role-words.ts';
import { periodName } from '../words/time-words.ts';
import { energySentence } from './energy-sentence.tsx';
import { EnergyTable } from './energy-table.tsx';

type Query = Readonly<Record<string, string>>;
type Compared = 'none' | 'before' | 'year';

const SLOW_MS = 15_000;
/** The most daily values that are read for a picture: about a megabyte. */
const VALUES_MAX = 20_000;
/** The most of them with flags. */
const DETAILS_MAX = 6_000;

/** Energy of a period in columns: the balance, the devices, or the sources of one role. */
export function EnergyPage({ query }: { query: Query }) {
  const { workgroup, today } = useContext(PageWorkContext);
  const period = periodIn(query, today);
  const grain = grainOf(period);
  const compared: Compared = query.compare === 'before' || query.compare === 'year' ? query.compare : 'none';
  const other =
    compared === 'none' ? undefined : compared === 'before' ? shiftPeriod(period, -1) : yearBefore(period);
  const statuses = useAnswer<DeviceStatuses>('device-status', SLOW_MS);
  const balances = useAnswer<Balances>(
    workgroup.maySeeAll ? `balance?${range(period)}&resolution=${grain}` : undefined,
    SLOW_MS,
  );
  const roles = rolesOf(balances.answer);
  // One role alone has nothing to be balanced with.
  const present = stackedRoles.filter((role) => [...roles.values()].includes(role));
  // Without roles there is no balance, and the answer is 404.
  const isDecided = !workgroup.maySeeAll || balances.answer !== undefined || balances.failure !== undefined;
  const show = !isDecided ? undefined : shownIn(query.show, present);
  const device = query.device;

  const link = (change: Readonly<Record<string, string | undefined>>) =>
    linkTo(workgroup.id, 'energy', { ...query, ...change });
  const options = [
    ...(present.length > 1 ? [{ key: 'balance', name: 'Balance' }] : []),
    ...present.map((role) => ({ key: role, name: roleWords[role].name })),
    { key: 'devices', name: 'Devices' },
    { key: 'sources', name: 'Sources' },
  ];
  return (
    <>
      <div class="page-head">
        <h1>Energy</h1>
        <PeriodPicker period={period} today={today} linkTo={({ from, to }) => link({ from, to })} />
      </div>
      <div class="controls">
        <Select
          label="Show"
          options={show === undefined ? [{ key: '', name: 'Balance' }] : options}
          chosen={show ?? ''}
          onChoose={(key) => {
            location.hash = link({ show: key });
          }}
        />
        {show !== 'balance' && show !== undefined && (
          <Select
            label="Device"
            options={[
              { key: '', name: 'All devices' },
              ...Object.keys(statuses.answer ?? {}).map((id) => ({
                key: id,
                name: seriesName(id, statuses.answer),
              })),
            ]}
            chosen={device ?? ''}
            onChoose={(key) => {
              location.hash = link({ device: key || undefined });
            }}
          />
        )}
        <Choice
          label="Compare with"
          chosen={compared}
          options={[
            { key: 'none', name: 'No comparison', href: link({ compare: undefined }) },
            { key: 'before', name: 'Period before', href: link({ compare: 'before' }) },
            { key: 'year', name: 'A year before', href: link({ compare: 'year' }) },
          ]}
        />
      </div>
      {show === undefined ? (
        <Loading what="energy" height={420} />
      ) : (
        <EnergyPicture
          key={show}
          show={show}
          period={period}
          other={other}
          grain={grain}
          balances={balances}
          statuses={statuses.answer}
          roles={roles}
          device={device}
        />
      )}
    </>
  );
}

/** The period of the address, or the last thirty days. */
function periodIn({ from, to }: Query, today: string): DaySpan {
  if (isDay(from) && isDay(to) && from <= to && countDays(from, to) <= 1_827) return { from, to };
  return { from: shiftDay(today, -29), to: today };
}

function shownIn(asked: string | undefined, present: readonly BalanceRole[]): string {
  const usual = present.length > 1 ? 'balance' : (present[0] ?? 'devices');
  if (asked === 'devices' || asked === 'sources') return asked;
  if (asked === 'balance') return usual;
  return isBalanceRole(asked) && present.includes(asked) ? asked : usual;
}

const range = ({ from, to }: DaySpan) => `startDate=${from}&endDate=${to}`;

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

function EnergyPicture(props: PictureProps) {
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
    return `${report}?${range(of)}${show === 'devices' ? '' : '&groupBy=source'}${only}`;
  };
  const energy = useAnswer<DailyEnergy | DayDetails>(path(period), SLOW_MS);
  const otherEnergy = useAnswer<DailyEnergy | DayDetails>(
    other && show !== 'balance' ? path(other) : undefined,
    SLOW_MS,
  );
  const otherBalances = useAnswer<Balances>(
    other && show === 'balance' ? `balance?${range(other)}&resolution=${grain}` : undefined,
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
