/**
 * A small profile without axes. Missing values stay empty. Screen readers skip it, because the text next to
 * it says the same.
 */
export function Spark({ values, tone }: { values: ReadonlyArray<number | null>; tone: string }) {
  const most = Math.max(1, ...values.map((value) => Math.abs(value ?? 0)));
  const width = Math.max(1, values.length);
  return (
    <svg class="spark" viewBox={`0 0 ${width} 32`} preserveAspectRatio="none" aria-hidden="true">
      <line class="axis-line" x1="0" x2={width} y1="31.5" y2="31.5" vector-effect="non-scaling-stroke" />
      {values.map((value, index) =>
        value === null ? null : (
          <rect
            key={index}
            class={`bar tone-${tone}`}
            x={index + 0.1}
            width={0.8}
            y={31 - (Math.abs(value) / most) * 30}
            height={(Math.abs(value) / most) * 30}
          />
        ),
      )}
    </svg>
  );
}

/**
 * The same for days.
 * @param values null: no data, which is a pale column of full height; undefined: nothing is expected
 */
export function DaySpark({ values }: { values: ReadonlyArray<number | null | undefined> }) {
  const most = Math.max(1, ...values.map((value) => Math.abs(value ?? 0)));
  const width = Math.max(1, values.length);
  return (
    <svg class="spark day-spark" viewBox={`0 0 ${width} 32`} preserveAspectRatio="none" aria-hidden="true">
      {values.map((value, index) =>
        value === undefined ? null : value === null ? (
          <rect key={index} class="spark-missing" x={index + 0.1} width={0.8} y={0} height={31} />
        ) : (
          <rect
            key={index}
            class="bar tone-1"
            x={index + 0.1}
            width={0.8}
            y={31 - Math.max(1, (Math.abs(value) / most) * 31)}
            height={Math.max(1, (Math.abs(value) / most) * 31)}
          />
        ),
      )}
      <line class="axis-line" x1="0" x2={width} y1="31.5" y2="31.5" vector-effect="non-scaling-stroke" />
    </svg>
  );
}
