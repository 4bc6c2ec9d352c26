import { type Day, isDay } from '../words/local-days.ts';
import { kindOf, type Period, periodOf, shiftPeriod } from '../words/periods.ts';
import { periodName } from '../words/time-words.ts';

const allKinds = ['week', 'month', 'year'] as const;

/** Chooses a range of days: a week, a month, a year, or two dates. Left and right go to the period before and after. */
export function PeriodPicker(props: {
  period: Period;
  today: Day;
  /** The address of this view with another period. */
  linkTo(period: Period): string;
  kinds?: ReadonlyArray<'week' | 'month' | 'year'>;
}) {
  const { period, today, linkTo, kinds = allKinds } = props;
  const kind = kindOf(period);
  // Another kind shows the end of what is shown now, but nothing beyond today.
  const anchor = period.to > today && period.from <= today ? today : period.to;
  const go = (next: Period) => {
    if (isDay(next.from) && isDay(next.to) && next.from <= next.to) location.hash = linkTo(next);
  };
  const after = shiftPeriod(period, 1);
  return (
    <div class="period">
      <nav class="choice" aria-label="Length of the period">
        {kinds.map((one) => (
          <a key={one} href={linkTo(periodOf(one, anchor))} aria-current={one === kind ? 'true' : undefined}>
            {one[0]!.toUpperCase() + one.slice(1)}
          </a>
        ))}
      </nav>
      <nav class="stepper" aria-label="Period">
        <a href={linkTo(shiftPeriod(period, -1))} aria-label="Period before" class="step">
          <Arrow to="left" />
        </a>
        <span class="period-name" aria-live="polite">
          {periodName(period)}
        </span>
        <a
          href={after.from > today ? undefined : linkTo(after)}
          aria-disabled={after.from > today}
          role="link"
          aria-label="Period after"
          class="step"
        >
          <Arrow to="right" />
        </a>
      </nav>
      <fieldset class="dates">
        <legend class="visually-hidden">First and last day</legend>
        <input
          type="date"
          aria-label="First day"
          value={period.from}
          onChange={(event) => {
            const from = event.currentTarget.value;
            go({ from, to: from > period.to ? from : period.to });
          }}
        />
        <span aria-hidden="true">–</span>
        <input
          type="date"
          aria-label="Last day"
          value={period.to}
          onChange={(event) => {
            const to = event.currentTarget.value;
            go({ from: to < period.from ? to : period.from, to });
          }}
        />
      </fieldset>
    </div>
  );
}

export function Arrow({ to }: { to: 'left' | 'right' }) {
  return (
    <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true" class="arrow">
      <path d={to === 'left' ? 'M10 3L5 8l5 5' : 'M6 3l5 5-5 5'} />
    </svg>
  );
}
