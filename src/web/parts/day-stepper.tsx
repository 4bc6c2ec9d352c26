import { addDays, type Day, isDay } from '../words/local-days.ts';
import { longDay } from '../words/time-words.ts';
import { Arrow } from './period-picker.tsx';

/** Chooses a day: the one before, the one after, or any by date. */
export function DayStepper({ day, today, linkTo }: { day: Day; today: Day; linkTo(day: Day): string }) {
  const isLast = day >= today;
  return (
    <div class="period">
      <nav class="stepper" aria-label="Day">
        <a href={linkTo(addDays(day, -1))} aria-label="Day before" class="step">
          <Arrow to="left" />
        </a>
        <span class="period-name" aria-live="polite">
          {longDay(day)}
        </span>
        <a
          href={isLast ? undefined : linkTo(addDays(day, 1))}
          aria-disabled={isLast}
          role="link"
          aria-label="Day after"
          class="step"
        >
          <Arrow to="right" />
        </a>
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
