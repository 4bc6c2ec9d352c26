import { useContext, useRef, useState } from 'preact/hooks';
import type { Explained, ExplainedSource } from '../facts/answers.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { nearestPoint, type Point, pointsOf, pointsWithin, spanOf } from '../facts/why-points.ts';
import { formatValue, plural } from '../words/number-words.ts';
import { minuteMs } from '../words/time-units.ts';
import { clockTimeToSecond } from '../words/time-words.ts';
import { HatchPattern } from './hatch-pattern.tsx';
import { useWidth } from './use-width.ts';
import { HourAxis, ValueAxis } from './why-axes.tsx';
import { IntervalBars, UnusedKey } from './why-marks.tsx';
import {
  BARS_HEIGHT,
  BARS_TOP,
  GUTTER,
  placeWhy,
  READINGS_TOP,
  WHY_HEIGHT,
  type WhyPlace,
} from './why-place.ts';
import { Events, ReadingLines, UncoveredTimes, UnusedReadings } from './why-readings.tsx';

/** The pointer picks a reading that is at most this far away. */
const REACH_MS = 30 * minuteMs;

/**
 * The readings of a day on a time line: used ones as a line, the others with a sign for each fate. Below them
 * the energy of each quarter of an hour. The arrow keys move from reading to reading.
 */
export function WhyPicture(props: {
  explained: Explained;
  source: ExplainedSource;
  onPick(span: { from: string; to: string }): void;
}) {
  const { explained, source, onPick } = props;
  const { zone, workgroup } = useContext(PageWorkContext);
  const { ref, width } = useWidth<HTMLDivElement>();
  const svg = useRef<SVGSVGElement>(null);
  const [active, setActive] = useState<Point | undefined>();
  const { points, low, high } = pointsOf(source);
  if (points.length === 0)
    return (
      <p class="sentence">
        There are no readings with a value on this day. Its energy lies between readings of other days, or was
        set by a person.
      </p>
    );

  const isPower = source.result?.method === 'power_curve';
  const place = placeWhy(explained, { low, high, isPower }, width);
  const { startMs, endMs } = place;
  const unused = points.filter(({ reading }) => reading.fate !== 'used');
  const listed = pointsWithin(points, place);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && active && workgroup.mayCorrect) onPick(spanOf(active.reading.time));
    const next = pointAfterKey(event, { active, points: listed, endMs });
    if (!next) return;
    event.preventDefault();
    setActive(next);
  };
  const onPointerMove = (event: PointerEvent) => {
    const box = svg.current!.getBoundingClientRect();
    const ms = startMs + ((event.clientX - box.left - GUTTER) / (width - GUTTER)) * (endMs - startMs);
    setActive(nearestPoint(listed, ms, REACH_MS));
  };
  return (
    <figure class="figure">
      <figcaption>
        <CountsSentence source={source} isPower={isPower} />
      </figcaption>
      <p class="readout-line" aria-live="polite">
        {active ? pointWords(active, isPower, zone) : ''}&nbsp;
      </p>
      <div ref={ref} class="picture" style={{ height: `${WHY_HEIGHT}px` }}>
        {width > 0 && (
          <svg
            ref={svg}
            width={width}
            height={WHY_HEIGHT}
            role="application"
            aria-label="Readings on a time line. The arrow keys read them one by one, with Shift only those that are not used."
            tabIndex={0}
            onKeyDown={onKeyDown}
            onPointerMove={onPointerMove}
            onPointerLeave={() => setActive(undefined)}
            onBlur={() => setActive(undefined)}
          >
            <defs>
              <HatchPattern id="why-hatch" />
              <clipPath id="why-clip">
                <rect x={GUTTER} y={0} width={Math.max(0, width - GUTTER)} height={WHY_HEIGHT} />
              </clipPath>
            </defs>
            <ValueAxis place={place} />
            <HourAxis place={place} zone={zone} />
            <g clip-path="url(#why-clip)">
              <UncoveredTimes source={source} place={place} />
              <Events source={source} place={place} />
              <ReadingLines points={points} segments={source.segments} place={place} />
              <UnusedReadings points={unused} place={place} />
            </g>
            <IntervalBars source={source} place={place} zone={zone} />
            {active && <Cursor point={active} place={place} />}
          </svg>
        )}
      </div>
      <UnusedKey points={unused} />
    </figure>
  );
}

/** How many readings count, and where the energy is in the picture. */
function CountsSentence({ source, isPower }: { source: ExplainedSource; isPower: boolean }) {
  const counted = source.readings.filter(({ fate }) => fate === 'used').length;
  const uncounted = source.readings.length - counted;
  return (
    <p class="sentence">
      {plural(counted, 'reading')} {counted === 1 ? 'counts' : 'count'}
      {uncounted > 0 && `, ${plural(uncounted, 'reading')} ${uncounted === 1 ? 'does' : 'do'} not`}.{' '}
      {isPower
        ? 'The line is the power; its area is the energy.'
        : 'The line is the register; the energy is its growth.'}
    </p>
  );
}

function pointWords({ ms, value, reading }: Point, isPower: boolean, zone: string): string {
  const reason = reading.reason ? `: ${reading.reason}` : '';
  return `${clockTimeToSecond(ms, zone)}: ${formatValue(value)} ${isPower ? 'W' : 'Wh'}, ${reading.fate}${reason}`;
}

/**
 * The reading that a key leads to. With Shift the arrow keys leave out those that are used.
 * @returns undefined if there is none, or if the key has no meaning
 */
export function pointAfterKey(
  { key, shiftKey }: Pick<KeyboardEvent, 'key' | 'shiftKey'>,
  { active, points, endMs }: { active: Point | undefined; points: readonly Point[]; endMs: number },
): Point | undefined {
  const index = active ? points.indexOf(active) : -1;
  const isUnused = ({ reading }: Point) => reading.fate !== 'used';
  switch (key) {
    case 'ArrowRight':
      return shiftKey ? points.find((one) => isUnused(one) && one.ms > (active?.ms ?? 0)) : points[index + 1];
    case 'ArrowLeft':
      return shiftKey
        ? points.findLast((one) => isUnused(one) && one.ms < (active?.ms ?? endMs))
        : points[index - 1];
    case 'Home':
      return points[0];
    case 'End':
      return points.at(-1);
    default:
      return undefined;
  }
}

/** The reading that is read out. */
function Cursor({ point, place }: { point: Point; place: WhyPlace }) {
  const x = place.x(point.ms);
  return (
    <g aria-hidden="true">
      <line class="cursor" x1={x} x2={x} y1={READINGS_TOP} y2={BARS_TOP + BARS_HEIGHT} />
      <circle class="cursor-dot" cx={x} cy={place.y(point.value)} r="5" />
    </g>
  );
}
