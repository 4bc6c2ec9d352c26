import { isDay, type LocalDay } from '../words/local-days.ts';
import { lengthOf, periodAround, type ShownPeriod, shiftPeriod } from '../words/periods.ts';
import { periodName } from '../words/time-words.ts';

const allKinds = ['week', 'month', 'year'] as const;

/**
 * Chooses a range of days: a week, a month, a year, or two dates. Left and right go to the period before and
 * after.
 */
export function PeriodPicker(props: {
  period: ShownPeriod;
  today: LocalDay;
  /** The address of this view with another period. */
  linkTo(period: ShownPeriod): string;
  kinds?: ReadonlyArray<'week' | 'month' | 'year'>;
}) {
  const { period, today, linkTo, kinds = allKinds } = props;
  const length = lengthOf(period);
  // Another length shows the period that contains the end of the current period, or today if that end is
  // later than today.
  const anchor = period.to > today && period.from <= today ? today : period.to;
  const go = (next: ShownPeriod) => {
    if (isDay(next.from) && isDay(next.to) && next.from <= next.to) location.hash = linkTo(next);
  };
  const after = shiftPeriod(period, 1);
  return (
    <div class="period">
      <nav class="choice" aria-label="Length of the period">
        {kinds.map((option) => (
          <a
            key={option}
            href={linkTo(periodAround(option, anchor))}
            aria-current={option === length ? 'true' : undefined}
          >
            {option[0]!.toUpperCase() + option.slice(1)}
          </a>
        ))}
      </nav>
      <nav class="stepper" aria-label="Period">
        <StepLink to="left" label="Period before" href={linkTo(shiftPeriod(period, -1))} />
        <span class="period-name" aria-live="polite">
          {periodName(period)}
        </span>
        <StepLink to="right" label="Period after" href={after.from > today ? undefined : linkTo(after)} />
      </nav>
      <fieldset class="dates">
        <legend class="visually-hidden">First and last day</legend>
        <input
          type="date"
          aria-label="First day"
          value={period.from}
          onChange={(event) => {
            const from = event.currentTarget.value;
            go(sorted(from, period.to, from));
          }}
        />
        <span aria-hidden="true">–</span>
        <input
          type="date"
          aria-label="Last day"
          value={period.to}
          onChange={(event) => {
            const to = event.currentTarget.value;
            go(sorted(period.from, to, to));
          }}
        />
      </fieldset>
    </div>
  );
}

/** A range. If its first day would be after its last day, both are the day that was changed. */
function sorted(from: LocalDay, to: LocalDay, changed: LocalDay): ShownPeriod {
  return from <= to ? { from, to } : { from: changed, to: changed };
}

/** A link to the day or period before or after. Without an address it is shown, but leads nowhere. */
export function StepLink({
  to,
  label,
  href,
}: {
  to: 'left' | 'right';
  label: string;
  href: string | undefined;
}) {
  const arrow = (
    <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true" class="arrow">
      <path d={to === 'left' ? 'M10 3L5 8l5 5' : 'M6 3l5 5-5 5'} />
    </svg>
  );
  if (href === undefined) return <span class="step off">{arrow}</span>;
  return (
    <a href={href} aria-label={label} class="step">
      {arrow}
    </a>
  );
}
