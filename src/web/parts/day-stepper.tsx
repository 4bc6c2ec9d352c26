import { isDay, type LocalDay, shiftDay } from '../words/local-days.ts';
import { longDay } from '../words/time-words.ts';
import { StepLink } from './period-picker.tsx';

/** Chooses a day: the one before, the one after, or any by date. */
export function DayStepper({
  day,
  today,
  linkTo,
}: {
  day: LocalDay;
  today: LocalDay;
  linkTo(day: LocalDay): string;
}) {
  return (
    <div class="period">
      <nav class="stepper" aria-label="Day">
        <StepLink to="left" label="Day before" href={linkTo(shiftDay(day, -1))} />
        <span class="period-name" aria-live="polite">
          {longDay(day)}
        </span>
        <StepLink to="right" label="Day after" href={day >= today ? undefined : linkTo(shiftDay(day, 1))} />
      </nav>
      <input
        type="date"
        aria-label="Day"
        value={day}
        max={today}
        onChange={(event) => {
          const { value } = event.currentTarget;
          if (isDay(value)) location.hash = linkTo(value);
        }}
      />
    </div>
  );
}
