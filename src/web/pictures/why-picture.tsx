import { useContext, useRef, useState } from 'preact/hooks';
import type { Explained, ExplainedSource } from '../facts/answers.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { linesOf, nearestPoint, type Point, pointsOf, spanOf } from '../facts/why-points.ts';
import { flagName } from '../words/flag-words.ts';
import { energyUnit, formatIn, formatValue, plural, powerUnit } from '../words/number-words.ts';
import { clockTime, clockTimeToSecond } from '../words/time-words.ts';
import { HatchPattern } from './hatch-pattern.tsx';
import { closeScale, niceScale } from './nice-scale.ts';
import { useWidth } from './use-width.ts';
import { BARS_HEIGHT, GUTTER, IntervalBars, UnusedKey, UnusedSign } from './why-marks.tsx';

const left = GUTTER;
const top = 26;
const READINGS_HEIGHT = 210;
const BETWEEN = 18;
const AXIS = 22;
const DOTS_MAX = 300;
const LABEL_WIDTH = 100;
const HOUR_MS = 3_600_000;

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
  const isPower = source.result?.method === 'power_curve';
  const [startMs, endMs] = [Date.parse(explained.start), Date.parse(explained.end)];
  const x = (ms: number) => left + ((ms - startMs) / (endMs - startMs)) * (width - left);
  const unused = points.filter(({ reading }) => reading.fate !== 'used');
  const height = top + READINGS_HEIGHT + BETWEEN + BARS_HEIGHT + AXIS;
  if (points.length === 0)
    return (
      <p class="sentence">
        There are no readings with a value on this day. Its energy lies between readings of other days, or was
        set by a person.
      </p>
    );

  const scale = isPower ? niceScale(low, high, 4) : closeScale(low, high, 4);
  const unit = isPower ? powerUnit(high) : energyUnit(Math.max(Math.abs(low), Math.abs(high)));
  const y = (value: number) =>
    top +
    ((scale.high - Math.min(scale.high, Math.max(scale.low, value))) / (scale.high - scale.low)) *
      READINGS_HEIGHT;
  // Values beyond the scale stand at its edge and are written out, as far as there is room.
  const outside = unused
    .filter(({ value }) => value > scale.high || value < scale.low)
    .filter((point, index, all) => index === 0 || x(point.ms) - x(all[index - 1]!.ms) > LABEL_WIDTH);
  const lines = linesOf(points, source.segments);
  const counted = source.readings.filter(({ fate }) => fate === 'used').length;
  const uncounted = source.readings.length - counted;
  const hours = Array.from(
    { length: Math.round((endMs - startMs) / HOUR_MS) + 1 },
    (_, index) => startMs + index * HOUR_MS,
  );
  const every = width < 560 ? 6 : 3;
  const inDay = ({ ms }: Point) => ms >= startMs && ms <= endMs;
  const listed = points.filter(inDay);
  const move = (event: KeyboardEvent) => {
    const at = active ? listed.indexOf(active) : -1;
    const jump = event.shiftKey ? unused.filter(inDay) : undefined;
    const next = {
      ArrowRight: jump ? jump.find(({ ms }) => ms > (active?.ms ?? 0)) : listed[at + 1],
      ArrowLeft: jump ? jump.findLast(({ ms }) => ms < (active?.ms ?? endMs)) : listed[at - 1],
      Home: listed[0],
      End: listed.at(-1),
    }[event.key];
    if (event.key === 'Enter' && active && workgroup.mayCorrect) onPick(spanOf(active.reading.time));
    if (!next) return;
    event.preventDefault();
    setActive(next);
  };
  const onPointerMove = (event: PointerEvent) => {
    const box = svg.current!.getBoundingClientRect();
    const ms = startMs + ((event.clientX - box.left - left) / (width - left)) * (endMs - startMs);
    setActive(nearestPoint(listed, ms, HOUR_MS / 2));
  };
  const words = active
    ? `${clockTimeToSecond(active.ms, zone)}: ${formatValue(active.value)} ${isPower ? 'W' : 'Wh'}, ${active.reading.fate}${active.reading.reason ? `: ${active.reading.reason}` : ''}`
    : '';
  const barsTop = top + READINGS_HEIGHT + BETWEEN;
  return (
    <figure class="figure">
      <figcaption>
        <p class="sentence">
          {plural(counted, 'reading')} {counted === 1 ? 'counts' : 'count'}
          {uncounted > 0 && `, ${plural(uncounted, 'reading')} ${uncounted === 1 ? 'does' : 'do'} not`}.{' '}
          {isPower
            ? 'The line is the power; its area is the energy.'
            : 'The line is the register; the energy is its growth.'}
        </p>
      </figcaption>
      <p class="readout-line" aria-live="polite">
        {words}&nbsp;
      </p>
      <div ref={ref} class="picture" style={{ height: `${height}px` }}>
        {width > 0 && (
          <svg
            ref={svg}
            width={width}
            height={height}
            role="application"
            aria-label="Readings on a time line. The arrow keys read them one by one, with Shift only those that are not used."
            tabIndex={0}
            onKeyDown={move}
            onPointerMove={onPointerMove}
            onPointerLeave={() => setActive(undefined)}
            onBlur={() => setActive(undefined)}
          >
            <defs>
              <HatchPattern id="why-hatch" />
              <clipPath id="why-clip">
                <rect x={left} y={0} width={Math.max(0, width - left)} height={height} />
              </clipPath>
            </defs>
            <text class="axis" x={left - 8} y={10} text-anchor="end">
              {unit.name}
            </text>
            {scale.ticks.map((tick) => (
              <g key={tick}>
                <line class="grid-line" x1={left} x2={width} y1={y(tick)} y2={y(tick)} />
                <text class="axis" x={left - 8} y={y(tick) + 4} text-anchor="end">
                  {tickWords(tick, scale.high - scale.low, unit)}
                </text>
              </g>
            ))}
            {hours.map(
              (ms, index) =>
                index % every === 0 && (
                  <g key={ms}>
                    <line class="grid-line" x1={x(ms)} x2={x(ms)} y1={top} y2={barsTop + BARS_HEIGHT} />
                    <text
                      class="axis"
                      x={x(ms)}
                      y={height - 5}
                      text-anchor={index === 0 ? 'start' : index === hours.length - 1 ? 'end' : 'middle'}
                    >
                      {index === hours.length - 1 ? '24:00' : clockTime(ms, zone)}
                    </text>
                  </g>
                ),
            )}
            <g clip-path="url(#why-clip)">
              {source.coverage.uncovered.map(({ from, to }) => (
                <rect
                  key={from}
                  class="uncovered"
                  fill="url(#why-hatch)"
                  x={x(Date.parse(from))}
                  width={Math.max(1, x(Date.parse(to)) - x(Date.parse(from)))}
                  y={top}
                  height={READINGS_HEIGHT}
                />
              ))}
              {source.events
                .filter(({ kind }) => kind !== 'midnight')
                .map(({ from, to, kind, text }, index) => (
                  <g key={index}>
                    <rect
                      class="event"
                      x={x(Date.parse(from)) - 1}
                      width={Math.max(2, x(Date.parse(to)) - x(Date.parse(from)))}
                      y={top}
                      height={READINGS_HEIGHT}
                    >
                      <title>{text}</title>
                    </rect>
                    <text
                      class="event-name"
                      x={Math.min(x(Date.parse(from)) + 4, width - 60)}
                      y={top + 12 + (index % 3) * 13}
                    >
                      {flagName(kind)}
                    </text>
                  </g>
                ))}
              {lines.map((line) => (
                <g key={line[0]!.ms}>
                  {isPower && (
                    <path
                      class="power-area"
                      d={`${pathOf(line, x, y)}L${x(line.at(-1)!.ms)} ${y(0)}L${x(line[0]!.ms)} ${y(0)}Z`}
                    />
                  )}
                  <path class="reading-line" d={pathOf(line, x, y)} />
                  {points.length <= DOTS_MAX &&
                    line.map((point) => (
                      <circle key={point.ms} class="reading-dot" cx={x(point.ms)} cy={y(point.value)} r="2" />
                    ))}
                </g>
              ))}
              {unused.map((point) => (
                <UnusedSign
                  key={`${point.ms} ${point.reading.batch} ${point.value}`}
                  point={point}
                  x={x(point.ms)}
                  y={y(point.value)}
                />
              ))}
              {outside.map((point) => (
                <text key={point.ms} class="outside" x={x(point.ms) + 8} y={y(point.value) + 4}>
                  {formatValue(point.value)}
                </text>
              ))}
            </g>
            <IntervalBars source={source} x={x} top={barsTop} zone={zone} />
            {active && (
              <g aria-hidden="true">
                <line
                  class="cursor"
                  x1={x(active.ms)}
                  x2={x(active.ms)}
                  y1={top}
                  y2={barsTop + BARS_HEIGHT}
                />
                <circle class="cursor-dot" cx={x(active.ms)} cy={y(active.value)} r="5" />
              </g>
            )}
          </svg>
        )}
      </div>
      <UnusedKey points={unused} />
    </figure>
  );
}

function pathOf(line: readonly Point[], x: (ms: number) => number, y: (value: number) => number): string {
  return line
    .map(({ ms, value }, index) => `${index === 0 ? 'M' : 'L'}${x(ms).toFixed(1)} ${y(value).toFixed(1)}`)
    .join('');
}

/** Registers differ in their last digits, so ticks have as many digits as the range needs. */
function tickWords(tick: number, range: number, unit: { name: string; size: number }): string {
  const scaled = tick / unit.size;
  const digits = Math.max(0, Math.min(4, 1 - Math.floor(Math.log10(range / unit.size))));
  return digits === 0
    ? formatIn(Math.round(scaled), { name: '', size: 1 })
    : new Intl.NumberFormat(undefined, {
        minimumFractionDigits: digits,
        maximumFractionDigits: digits,
      }).format(scaled);
}
