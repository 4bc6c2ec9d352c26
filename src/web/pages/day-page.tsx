import { useContext } from 'preact/hooks';
import { linkTo } from '../app/address.ts';
import type { DayDetails, DeviceStatuses } from '../facts/answers.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import {
  type ProfileColumns,
  profileColumns,
  profileOfBalance,
  rolesThemselves,
} from '../facts/profile-columns.ts';
import { namerOf, rolesOf, seriesName, splitSeries } from '../facts/series.ts';
import { OTHERS } from '../facts/top-series.ts';
import { SLOW_MS, useAnswer } from '../facts/use-answer.ts';
import { useDayBalance, useDayProfile } from '../facts/use-day-profile.ts';
import { Select } from '../parts/choice.tsx';
import { DayStepper } from '../parts/day-stepper.tsx';
import { EnergyAmount } from '../parts/energy-amount.tsx';
import { Empty, Shown } from '../parts/states.tsx';
import { comparableName } from '../pictures/bar-data.ts';
import { BarFigure } from '../pictures/bar-figure.tsx';
import { worstRank } from '../words/flag-words.ts';
import { isDay, shiftDay, today } from '../words/local-days.ts';
import { listWords } from '../words/number-words.ts';
import { longDay, shortDay } from '../words/time-words.ts';
import { isZone, zoneChoices } from '../words/zone-days.ts';
import { EnergyTable } from './energy-table.tsx';

/** The 15-minute profile of a day, in the zone of the workgroup or in another one. */
export function DayPage({ query }: { query: Readonly<Record<string, string>> }) {
  const { workgroup, zone: own } = useContext(PageWorkContext);
  const zone = isZone(query.zone) ? query.zone : own;
  const current = today(zone);
  const day = isDay(query.day) ? query.day : current;
  const other = isDay(query.with) ? query.with : undefined;
  const device = query.device;
  const profile = useDayProfile(day, zone, device);
  const otherProfile = useDayProfile(other, zone, device);
  const statuses = useAnswer<DeviceStatuses>('device-status', SLOW_MS);
  // A balance also has the roles that are computed, such as the consumption. It needs roles, and a token
  // without device groups.
  const balances = useDayBalance(workgroup.maySeeAll && day, zone, 'day', 60_000);
  const roles = rolesOf(balances.answer);
  const measured = new Set(roles.values());
  // The others of a large answer have no role of their own.
  const hasOthers =
    profile.answer !== undefined && profile.answer !== 'none' && OTHERS in profile.answer.energyWh;
  const isBalance = (measured.size > 1 || (measured.size === 1 && hasOthers)) && !device;
  const quarters = useDayBalance(isBalance && day, zone, 'interval');
  const otherQuarters = useDayBalance(isBalance && other, zone, 'interval');
  // The flags of today say only that it is not over.
  const hasFlags = zone === own && day < current && Object.keys(statuses.answer ?? {}).length <= DEVICES_MAX;
  const details = useAnswer<DayDetails>(
    statuses.answer &&
      hasFlags &&
      `daily-energy/details?startDate=${day}&endDate=${day}${device ? `&devices=${device}` : ''}`,
    SLOW_MS,
  );
  const marked = Object.entries(details.answer?.[day] ?? {})
    .filter(([, { flags }]) => ['bad', 'doubtful'].includes(worstRank(flags) ?? ''))
    .map(([id]) => id);
  const link = (change: Readonly<Record<string, string | undefined>>) =>
    linkTo(workgroup.id, 'day', { ...query, day, ...change });
  const isDecided =
    (!workgroup.maySeeAll || balances.answer !== undefined || balances.failure !== undefined) &&
    (!isBalance || quarters.answer !== undefined || quarters.failure !== undefined);
  const otherShown = other && otherProfile.answer !== 'none' ? otherProfile.answer : undefined;
  return (
    <>
      <div class="page-head">
        <h1>Day</h1>
        <DayStepper day={day} today={current} linkTo={(next) => link({ day: next })} />
      </div>
      <div class="controls">
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
        <Select
          label="Compare with"
          options={[
            { key: '', name: 'no other day' },
            ...[1, 7, 28, 364].map((back) => ({
              key: shiftDay(day, -back),
              name: `${backNames[back]}, ${shortDay(shiftDay(day, -back))}`,
            })),
            // A link can name any day.
            ...(other && ![1, 7, 28, 364].some((back) => shiftDay(day, -back) === other)
              ? [{ key: other, name: longDay(other) }]
              : []),
          ]}
          chosen={other ?? ''}
          onChoose={(key) => {
            location.hash = link({ with: key || undefined });
          }}
        />
        <Select
          label="Time zone"
          options={zoneChoices(own, zone)}
          chosen={zone}
          onChoose={(key) => {
            location.hash = link({ zone: key === own ? undefined : key });
          }}
        />
      </div>
      <Shown
        of={isDecided ? profile : { ...profile, answer: undefined, isLoading: true }}
        what="the profile"
        height={420}
      >
        {(answer) => {
          const found = answer === 'none' ? undefined : answer;
          const shown = profileColumns(
            quarters.answer ? profileOfBalance(found, quarters.answer, measured) : found,
            {
              nameOf: namerOf(
                Object.keys(found?.energyWh ?? {}).filter((key) => key !== OTHERS),
                statuses.answer,
              ),
              roles: quarters.answer ? rolesThemselves : roles,
              zone,
              nowMs: Date.now(),
              other:
                otherShown && otherQuarters.answer
                  ? profileOfBalance(otherShown, otherQuarters.answer, measured)
                  : otherShown,
            },
          );
          if (!found || !shown)
            return (
              <Empty title={`No energy on ${longDay(day)}`}>
                Nothing is published for this day{device ? ' and device' : ''}. That is not the same as zero.
              </Empty>
            );
          return (
            <>
              <BarFigure
                sentence={
                  <>
                    {shortDay(day)}
                    {zone !== own && ` in ${zone}`} {knownWords(shown, day === current)}{' '}
                    {shown.peak && (
                      <>
                        The strongest quarter of an hour begins at {shown.peak.time}, with{' '}
                        <EnergyAmount wh={shown.peak.wh} />.
                      </>
                    )}{' '}
                    {shown.missing > 0 && `${shown.missing} quarters of an hour have no data. `}
                    {marked.length > 0 &&
                      `${listWords(marked.map((id) => seriesName(id, statuses.answer)))} ${marked.length === 1 ? 'is' : 'are'} marked: look before you trust ${marked.length === 1 ? 'it' : 'them'}.`}
                  </>
                }
                label={`Energy of each 15 minutes, ${longDay(day)}`}
                columns={shown.columns}
                series={shown.series}
                height={300}
                wholeName={longDay(day)}
                referenceName={
                  other && otherShown ? `${comparableName(shown.series)}${shortDay(other)}` : undefined
                }
              />
              <p class="links">
                {zone === own && <span class="muted">Why this number:</span>}
                {(zone === own ? devicesOf(found.energyWh) : [])
                  .sort(
                    (a, b) =>
                      Number(marked.includes(b)) - Number(marked.includes(a)) ||
                      seriesName(a, statuses.answer).localeCompare(seriesName(b, statuses.answer)),
                  )
                  .slice(0, CHIPS_MAX)
                  .map((id) => (
                    <a key={id} class="chip" href={linkTo(workgroup.id, 'why', { device: id, day })}>
                      <span class="visually-hidden">Why the number of </span>
                      {seriesName(id, statuses.answer)}
                      {marked.includes(id) && ' △'}
                    </a>
                  ))}
              </p>
              <details class="more">
                <summary>The same as a table</summary>
                <EnergyTable
                  series={shown.series}
                  columns={shown.columns}
                  fileName={`${workgroup.id}-${day}.csv`}
                  zone={zone}
                />
              </details>
            </>
          );
        }}
      </Shown>
    </>
  );
}

function knownWords({ lastKnown, isWhole }: ProfileColumns, isToday: boolean): string {
  if (lastKnown === undefined) return 'has no measured interval.';
  if (isWhole) return 'is known to its end.';
  return `is known up to ${lastKnown}${isToday ? ' so far' : ''}.`;
}

const CHIPS_MAX = 12;
/** Of more devices the answer would be large. Their flags are on the page of quality. */
const DEVICES_MAX = 150;
const devicesOf = (energyWh: object) => [
  ...new Set(Object.keys(energyWh).flatMap((key) => (key === OTHERS ? [] : [splitSeries(key).device]))),
];

const backNames: Readonly<Record<number, string>> = {
  1: 'the day before',
  7: 'a week before',
  28: 'four weeks before',
  364: 'a year before',
};
