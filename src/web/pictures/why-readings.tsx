import type { ExplainedSource } from '../facts/answers.ts';
import { linesOf, type Point } from '../facts/why-points.ts';
import { flagName } from '../words/flag-words.ts';
import { formatValue } from '../words/number-words.ts';
import { UnusedSign } from './why-marks.tsx';
import { READINGS_HEIGHT, READINGS_TOP, type WhyPlace } from './why-place.ts';

/** With more readings than this, the line has no dots. */
const DOTS_MAX = 300;
/** The room of a value that is written out. */
const LABEL_WIDTH = 100;

/** Times without readings. */
export function UncoveredTimes({ source, place }: { source: ExplainedSource; place: WhyPlace }) {
  const { x } = place;
  return (
    <>
      {source.coverage.uncovered.map(({ from, to }) => (
        <rect
          key={from}
          class="uncovered"
          fill="url(#why-hatch)"
          x={x(Date.parse(from))}
          width={Math.max(1, x(Date.parse(to)) - x(Date.parse(from)))}
          y={READINGS_TOP}
          height={READINGS_HEIGHT}
        />
      ))}
    </>
  );
}

/** What the roll-up found, such as a reset, with its name. */
export function Events({ source, place }: { source: ExplainedSource; place: WhyPlace }) {
  const { x, width } = place;
  return (
    <>
      {source.events
        .filter(({ kind }) => kind !== 'midnight')
        .map(({ from, to, kind, text }, index) => (
          <g key={index}>
            <rect
              class="event"
              x={x(Date.parse(from)) - 1}
              width={Math.max(2, x(Date.parse(to)) - x(Date.parse(from)))}
              y={READINGS_TOP}
              height={READINGS_HEIGHT}
            >
              <title>{text}</title>
            </rect>
            <text
              class="event-name"
              x={Math.min(x(Date.parse(from)) + 4, width - 60)}
              y={READINGS_TOP + 12 + (index % 3) * 13}
            >
              {flagName(kind)}
            </text>
          </g>
        ))}
    </>
  );
}

/** The readings that count, as lines. The area below a power is its energy. */
export function ReadingLines(props: {
  points: readonly Point[];
  segments: ExplainedSource['segments'];
  place: WhyPlace;
}) {
  const { points, segments, place } = props;
  const { x, y } = place;
  return (
    <>
      {linesOf(points, segments).map((line) => (
        <g key={line[0]!.ms}>
          {place.isPower && (
            <path
              class="power-area"
              d={`${pathOf(line, place)}L${x(line.at(-1)!.ms)} ${y(0)}L${x(line[0]!.ms)} ${y(0)}Z`}
            />
          )}
          <path class="reading-line" d={pathOf(line, place)} />
          {points.length <= DOTS_MAX &&
            line.map((point) => (
              <circle key={point.ms} class="reading-dot" cx={x(point.ms)} cy={y(point.value)} r="2" />
            ))}
        </g>
      ))}
    </>
  );
}

function pathOf(line: readonly Point[], { x, y }: WhyPlace): string {
  return line
    .map(({ ms, value }, index) => `${index === 0 ? 'M' : 'L'}${x(ms).toFixed(1)} ${y(value).toFixed(1)}`)
    .join('');
}

/** The readings that do not count. Values beyond the scale are written out, as far as there is room. */
export function UnusedReadings({ points, place }: { points: readonly Point[]; place: WhyPlace }) {
  const { x, y, scale } = place;
  const outside = points
    .filter(({ value }) => value > scale.high || value < scale.low)
    .filter((point, index, all) => index === 0 || x(point.ms) - x(all[index - 1]!.ms) > LABEL_WIDTH);
  return (
    <>
      {points.map((point) => (
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
    </>
  );
}
