import { formatIn, type Unit } from '../words/number-words.ts';
import { hourMs } from '../words/time-units.ts';
import { clockTime } from '../words/time-words.ts';
import { BARS_HEIGHT, BARS_TOP, GUTTER, READINGS_TOP, WHY_HEIGHT, type WhyPlace } from './why-place.ts';

/** If a picture is narrower than this, fewer hours have labels. */
const WIDTH_OF_MANY_HOURS = 560;

/** The unit, and a line for each tick of the values. */
export function ValueAxis({ place }: { place: WhyPlace }) {
  const { scale, unit, width, y } = place;
  return (
    <>
      <text class="axis" x={GUTTER - 8} y={10} text-anchor="end">
        {unit.name}
      </text>
      {scale.ticks.map((tick) => (
        <g key={tick}>
          <line class="grid-line" x1={GUTTER} x2={width} y1={y(tick)} y2={y(tick)} />
          <text class="axis" x={GUTTER - 8} y={y(tick) + 4} text-anchor="end">
            {tickWords(tick, scale.high - scale.low, unit)}
          </text>
        </g>
      ))}
    </>
  );
}

/** A line for each third or sixth hour of the day. */
export function HourAxis({ place, zone }: { place: WhyPlace; zone: string }) {
  const { startMs, endMs, width, x } = place;
  const hours = Array.from(
    { length: Math.round((endMs - startMs) / hourMs) + 1 },
    (_, index) => startMs + index * hourMs,
  );
  const every = width < WIDTH_OF_MANY_HOURS ? 6 : 3;
  return (
    <>
      {hours.map(
        (ms, index) =>
          index % every === 0 && (
            <g key={ms}>
              <line class="grid-line" x1={x(ms)} x2={x(ms)} y1={READINGS_TOP} y2={BARS_TOP + BARS_HEIGHT} />
              <text
                class="axis"
                x={x(ms)}
                y={WHY_HEIGHT - 5}
                text-anchor={index === 0 ? 'start' : index === hours.length - 1 ? 'end' : 'middle'}
              >
                {index === hours.length - 1 ? '24:00' : clockTime(ms, zone)}
              </text>
            </g>
          ),
      )}
    </>
  );
}

/** Registers differ in their last digits, so ticks have as many digits as the range needs. */
function tickWords(tick: number, range: number, unit: Unit): string {
  const scaled = tick / unit.size;
  const digits = Math.max(0, Math.min(4, 1 - Math.floor(Math.log10(range / unit.size))));
  return digits === 0
    ? formatIn(Math.round(scaled), { name: '', size: 1 })
    : new Intl.NumberFormat(undefined, {
        minimumFractionDigits: digits,
        maximumFractionDigits: digits,
      }).format(scaled);
}
