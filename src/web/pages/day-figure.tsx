import { useContext } from 'preact/hooks';
import { linkTo } from '../app/address.ts';
import type { Profiles } from '../facts/answers.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import type { ProfileColumns } from '../facts/profile-columns.ts';
import { seriesName, splitSeries } from '../facts/series.ts';
import { OTHERS } from '../facts/top-series.ts';
import type { ChosenDay, DayFacts } from '../facts/use-day-facts.ts';
import { EnergyAmount } from '../parts/energy-amount.tsx';
import { comparableName } from '../pictures/bar-data.ts';
import { BarFigure } from '../pictures/bar-figure.tsx';
import { listWords, plural } from '../words/number-words.ts';
import { longDay, shortDay } from '../words/time-words.ts';
import { EnergyTable } from './energy-table.tsx';

interface DayFigureProps {
  chosen: ChosenDay;
  facts: DayFacts;
  shown: ProfileColumns;
}

/** The energy of each 15 minutes of a day, with a link to the explanation of each device, and as a table. */
export function DayFigure(props: DayFigureProps & { energyWh: Profiles[string]['energyWh'] }) {
  const { chosen, facts, shown, energyWh } = props;
  const { workgroup, zone: own } = useContext(PageWorkContext);
  const { day, other, zone } = chosen;
  return (
    <>
      <BarFigure
        sentence={<DaySentence chosen={chosen} facts={facts} shown={shown} />}
        label={`Energy of each 15 minutes, ${longDay(day)}`}
        columns={shown.columns}
        series={shown.series}
        height={300}
        wholeName={longDay(day)}
        referenceName={
          other && facts.hasOther ? `${comparableName(shown.series)}${shortDay(other)}` : undefined
        }
      />
      <p class="links">
        {zone === own && <span class="muted">Why this number:</span>}
        {zone === own && <WhyLinks day={day} facts={facts} devices={devicesOf(energyWh)} />}
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
}

function DaySentence({ chosen, facts, shown }: DayFigureProps) {
  const { zone: own } = useContext(PageWorkContext);
  const { day, zone, current } = chosen;
  const { marked, statuses } = facts;
  return (
    <>
      {shortDay(day)}
      {zone !== own && ` in ${zone}`} {knownWords(shown, day === current)}{' '}
      {shown.peak && (
        <>
          The strongest quarter of an hour begins at {shown.peak.time}, with{' '}
          <EnergyAmount wh={shown.peak.wh} />.
        </>
      )}{' '}
      {shown.missing > 0 &&
        `${plural(shown.missing, 'quarter of an hour has', 'quarters of an hour have')} no data. `}
      {marked.length > 0 &&
        `${listWords(marked.map((id) => seriesName(id, statuses)))} ${marked.length === 1 ? 'is' : 'are'} marked: look before you trust ${marked.length === 1 ? 'it' : 'them'}.`}
    </>
  );
}

function knownWords({ lastKnown, isWhole }: ProfileColumns, isToday: boolean): string {
  if (lastKnown === undefined) return 'has no measured interval.';
  if (isWhole) return 'is known to its end.';
  return `is known up to ${lastKnown}${isToday ? ' so far' : ''}.`;
}

const CHIPS_MAX = 12;

/** Links to the explanations of devices, the marked ones first. */
function WhyLinks(props: { day: string; facts: DayFacts; devices: readonly string[] }) {
  const { day, facts, devices } = props;
  const { workgroup } = useContext(PageWorkContext);
  const { marked, statuses } = facts;
  return (
    <>
      {devices
        .toSorted(
          (a, b) =>
            Number(marked.includes(b)) - Number(marked.includes(a)) ||
            seriesName(a, statuses).localeCompare(seriesName(b, statuses)),
        )
        .slice(0, CHIPS_MAX)
        .map((id) => (
          <a key={id} class="chip" href={linkTo(workgroup.id, 'why', { device: id, day })}>
            <span class="visually-hidden">Why the number of </span>
            {seriesName(id, statuses)}
            {marked.includes(id) && ' △'}
          </a>
        ))}
    </>
  );
}

function devicesOf(energyWh: object): string[] {
  return [
    ...new Set(Object.keys(energyWh).flatMap((key) => (key === OTHERS ? [] : [splitSeries(key).device]))),
  ];
}
