import { useContext } from 'preact/hooks';
import { PageWorkContext } from '../facts/page-work.ts';
import { dayAndTime } from '../words/time-words.ts';
import { useWidth } from './use-width.ts';

interface Gap {
  id: number;
  from: string | null;
  to: string | null;
  detectedAt: string;
  available: 'all' | 'part' | 'nothing' | 'unknown';
}

const HEIGHT = 52;
const BAR_TOP = 6;
const BAR_HEIGHT = 22;
const LEAST_WIDTH = 4;

/**
 * Gaps on a time line, from a while before the first one until now. Gaps that can be filled are hatched, and
 * lost ones are solid. Screen readers skip the line, because the table below says the same.
 */
export function GapLine({ gaps }: { gaps: readonly Gap[] }) {
  const { ref, width } = useWidth<HTMLDivElement>();
  return (
    <div ref={ref} class="picture" style={{ height: `${HEIGHT}px` }}>
      {width > 0 && <DrawnGaps gaps={gaps} width={width} nowMs={Date.now()} />}
    </div>
  );
}

/** The picture of `GapLine` in a known width. */
export function DrawnGaps(props: { gaps: readonly Gap[]; width: number; nowMs: number }) {
  const { gaps, width, nowMs } = props;
  const { zone } = useContext(PageWorkContext);
  const known = gaps.map((gap) => ({
    ...gap,
    fromMs: Date.parse(gap.from ?? gap.to ?? gap.detectedAt),
    toMs: Date.parse(gap.to ?? gap.detectedAt),
  }));
  const firstMs = Math.min(...known.map(({ fromMs }) => fromMs));
  const startMs = firstMs - (nowMs - firstMs) * 0.05;
  const x = (ms: number) => ((ms - startMs) / Math.max(1, nowMs - startMs)) * width;
  return (
    <svg width={width} height={HEIGHT} class="gap-line" aria-hidden="true">
      <defs>
        <pattern
          id="gap-hatch"
          width="6"
          height="6"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <rect width="3" height="6" class="gap-hatch" />
        </pattern>
      </defs>
      <rect class="gap-ground" x={0} y={BAR_TOP} width={width} height={BAR_HEIGHT} rx={4} />
      {known.map(({ id, fromMs, toMs, available }) => (
        <rect
          key={id}
          class={`gap gap-${available}`}
          fill={available === 'nothing' ? undefined : 'url(#gap-hatch)'}
          x={x(fromMs)}
          y={BAR_TOP}
          width={Math.max(LEAST_WIDTH, x(toMs) - x(fromMs))}
          height={BAR_HEIGHT}
        />
      ))}
      <text class="axis" x={0} y={HEIGHT - 6}>
        {dayAndTime(startMs, zone)}
      </text>
      <text class="axis" x={width} y={HEIGHT - 6} text-anchor="end">
        now
      </text>
    </svg>
  );
}
