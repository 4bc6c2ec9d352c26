import type { ExplainedSource } from '../facts/answers.ts';
import type { Point } from '../facts/why-points.ts';
import { energyUnit, exactEnergy, formatIn } from '../words/number-words.ts';
import { intervalMs } from '../words/time-units.ts';
import { clockTime } from '../words/time-words.ts';
import { BARS_HEIGHT, BARS_TOP, GUTTER, type WhyPlace } from './why-place.ts';

const signs: Readonly<Record<string, { words: string; path: string }>> = {
  glitch: { words: 'glitch, left out', path: 'm-4 -4l8 8m0 -8l-8 8' },
  spike: { words: 'spike, left out', path: 'm-4 -4l8 8m0 -8l-8 8' },
  standstill: { words: 'standstill, spread', path: 'm-4 0h8' },
  excluded: { words: 'excluded by a person', path: 'm-4.5 -4.5h9v9h-9zm0 9l9 -9' },
  revised: { words: 'revised', path: 'm0 -4v8m-4 -4h8' },
  repeated: { words: 'repeated', path: 'm-2.5 0h5' },
  rejected: { words: 'rejected', path: 'm-4 -4l8 8m0 -8l-8 8m-1.7 -4a5.5 5.5 0 1 0 0.1 0' },
};

/** The sign of a reading that does not count. */
export function UnusedSign({ point, x, y }: { point: Point; x: number; y: number }) {
  const { fate } = point.reading;
  if (fate === 'repeated') return null;
  return (
    <g class={`unused unused-${fate}`}>
      <path d={`M${x.toFixed(1)} ${y.toFixed(1)}${signs[fate]?.path ?? ''}`} />
    </g>
  );
}

/** The meaning of the signs. */
export function UnusedKey({ points }: { points: readonly Point[] }) {
  const fates = [...new Set(points.map(({ reading }) => reading.fate))].filter((fate) => fate !== 'repeated');
  if (fates.length === 0) return null;
  return (
    <ul class="mark-key">
      {fates.map((fate) => (
        <li key={fate}>
          <svg width="14" height="14" aria-hidden="true" class={`unused unused-${fate}`}>
            <path d={`M7 7${signs[fate]?.path ?? ''}`} />
          </svg>{' '}
          {signs[fate]?.words ?? fate}
        </li>
      ))}
    </ul>
  );
}

/** The energy of each quarter of an hour below the readings. */
export function IntervalBars(props: { source: ExplainedSource; place: WhyPlace; zone: string }) {
  const { source, place, zone } = props;
  const { x } = place;
  const most = Math.max(1, ...source.intervals.map(({ energyWh }) => Math.abs(energyWh)));
  const base = BARS_TOP + BARS_HEIGHT;
  return (
    <g>
      <text class="axis" x={GUTTER - 8} y={BARS_TOP + 10} text-anchor="end">
        {formatIn(most, energyUnit(most))}
      </text>
      <text class="axis" x={GUTTER - 8} y={BARS_TOP + 23} text-anchor="end">
        {energyUnit(most).name}
      </text>
      <line
        class="axis-line"
        x1={GUTTER}
        x2={x(Date.parse(source.intervals.at(-1)?.start ?? '') + intervalMs) || GUTTER}
        y1={base}
        y2={base}
      />
      {source.intervals.map(({ start, energyWh, coveredMilliseconds }) => {
        const from = x(Date.parse(start));
        const barWidth = Math.max(1, x(Date.parse(start) + intervalMs) - from - 1);
        const size = (Math.abs(energyWh) / most) * BARS_HEIGHT;
        return (
          <rect
            key={start}
            class={`interval-bar ${coveredMilliseconds === 0 ? 'guess' : ''}`}
            x={from}
            width={barWidth}
            y={base - size}
            height={size}
          >
            <title>
              {clockTime(start, zone)}: {exactEnergy(energyWh)}
            </title>
          </rect>
        );
      })}
    </g>
  );
}
