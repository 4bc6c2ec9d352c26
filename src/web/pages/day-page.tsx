import { useContext } from 'preact/hooks';
import { linkTo } from '../app/address.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { chosenDay, useDayFacts } from '../facts/use-day-facts.ts';
import { DayStepper } from '../parts/day-stepper.tsx';
import { Empty, Shown } from '../parts/states.tsx';
import { longDay } from '../words/time-words.ts';
import { DayControls } from './day-controls.tsx';
import { DayFigure } from './day-figure.tsx';

/** The 15-minute profile of a day, in the zone of the workgroup or in another one. */
export function DayPage({ query }: { query: Readonly<Record<string, string>> }) {
  const { workgroup, zone: own } = useContext(PageWorkContext);
  const chosen = chosenDay(query, own);
  const { day, current, device } = chosen;
  const facts = useDayFacts(chosen);
  const link = (change: Readonly<Record<string, string | undefined>>) =>
    linkTo(workgroup.id, 'day', { ...query, day, ...change });
  return (
    <>
      <div class="page-head">
        <h1>Day</h1>
        <DayStepper day={day} today={current} linkTo={(next) => link({ day: next })} />
      </div>
      <DayControls chosen={chosen} statuses={facts.statuses} linkTo={link} />
      <Shown of={facts.profile} what="the profile" height={420}>
        {(answer) => {
          const profile = answer === 'none' ? undefined : answer;
          const figure = facts.columnsOf(profile);
          if (!profile || !figure)
            return (
              <Empty title={`No energy on ${longDay(day)}`}>
                Nothing is published for this day{device ? ' and device' : ''}. That is not the same as zero.
              </Empty>
            );
          return <DayFigure chosen={chosen} facts={facts} shown={figure} energyWh={profile.energyWh} />;
        }}
      </Shown>
    </>
  );
}
