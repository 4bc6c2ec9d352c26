import { useContext } from 'preact/hooks';
import { linkTo } from '../app/address.ts';
import type { Balances, DeviceStatuses } from '../facts/answers.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { rolesOf, seriesName } from '../facts/series.ts';
import { siteKey } from '../facts/site-key.ts';
import { SLOW_MS, useAnswer } from '../facts/use-answer.ts';
import { Select } from '../parts/choice.tsx';
import { PeriodPicker } from '../parts/period-picker.tsx';
import { Loading } from '../parts/states.tsx';
import { countDays, isDay, shiftDay } from '../words/local-days.ts';
import { grainOf, periodBefore, type ShownPeriod, yearBefore } from '../words/periods.ts';
import { roleWords, stackedRoles } from '../words/role-words.ts';
import { daysQuery, EnergyPicture, showsDevices } from './energy-picture.tsx';

/** The longest range that the server answers by days. */
const DAYS_MAX = 1_827;

type Query = Readonly<Record<string, string>>;
type Compared = 'none' | 'before' | 'year';

/** Energy of a period in columns: the balance, the devices, or the sources of one role. */
export function EnergyPage({ query }: { query: Query }) {
  const { workgroup, today, meters, sites } = useContext(PageWorkContext);
  const sitesWithDevices = sites.filter(({ devices }) => devices > 0);
  const period = periodIn(query, today);
  const grain = grainOf(period);
  const compared: Compared = query.compare === 'before' || query.compare === 'year' ? query.compare : 'none';
  const other =
    compared === 'none' ? undefined : compared === 'before' ? periodBefore(period) : yearBefore(period);
  const statuses = useAnswer<DeviceStatuses>('device-status', SLOW_MS);
  const balances = useAnswer<Balances>(
    workgroup.maySeeAll ? `balance?${daysQuery(period)}&resolution=${grain}` : undefined,
    SLOW_MS,
  );
  const roles = rolesOf(balances.answer);
  // A balance needs at least two roles.
  const present = stackedRoles.filter((role) => [...roles.values()].includes(role));
  const options = [
    ...(present.length > 1 ? [{ key: 'balance', name: 'Balance' }] : []),
    ...present.map((role) => ({ key: role, name: roleWords[role].name })),
    { key: 'devices', name: 'Devices' },
    { key: 'sources', name: 'Sources' },
    ...(meters.length > 0 ? [{ key: 'meters', name: 'Meters' }] : []),
    ...sitesWithDevices.map(({ name }) => ({ key: siteKey(name), name: `Site ${name}` })),
  ];
  // Without roles there is no balance, and the answer is 404.
  const isDecided = !workgroup.maySeeAll || balances.answer !== undefined || balances.failure !== undefined;
  const show = !isDecided
    ? undefined
    : options.some(({ key }) => key === query.show)
      ? query.show!
      : options[0]!.key;
  const device = query.device;

  const link = (change: Readonly<Record<string, string | undefined>>) =>
    linkTo(workgroup.id, 'energy', { ...query, ...change });
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
        {show !== undefined && showsDevices(show) && (
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
        <Select
          label="Compare with"
          chosen={compared}
          options={[
            { key: 'none', name: 'no other period' },
            { key: 'before', name: 'the period before' },
            { key: 'year', name: 'a year before' },
          ]}
          onChoose={(key) => {
            location.hash = link({ compare: key === 'none' ? undefined : key });
          }}
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
function periodIn({ from, to }: Query, today: string): ShownPeriod {
  if (isDay(from) && isDay(to) && from <= to && countDays(from, to) <= DAYS_MAX) return { from, to };
  return { from: shiftDay(today, -29), to: today };
}
