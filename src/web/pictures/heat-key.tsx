import { type CellState, patternOf, signOf } from './heat-marks.ts';

const words: ReadonlyArray<[CellState, string]> = [
  ['good', 'complete'],
  ['noted', 'repaired, right'],
  ['doubtful', 'partly a guess'],
  ['bad', 'not to be trusted'],
  ['missing', 'no data'],
];

/** The meaning of the marks. */
export function HeatKey({ present }: { present: ReadonlySet<CellState> }) {
  return (
    <ul class="mark-key">
      {words
        .filter(([state]) => present.has(state))
        .map(([state, text]) => (
          <li key={state}>
            <svg width="14" height="14" aria-hidden="true" class="heat">
              <path class={`cell cell-${state}`} d="M0 0h14v14h-14z" fill={patternOf[state]} />
              {signOf[state] && <path class={`cell-sign sign-${state}`} d={`M7 7${signOf[state](3)}`} />}
            </svg>{' '}
            {text}
          </li>
        ))}
    </ul>
  );
}
