import type { ListedCorrection } from '../../correction/list-corrections.ts';
import { countText, exactEnergy } from '../words/number-words.ts';
import { longDay } from '../words/time-words.ts';

const DAYS_SHOWN = 10;

/** What a correction would change, day by day. */
export function CorrectionEffect({ correction: { days, dayCount } }: { correction: ListedCorrection }) {
  if (days.length === 0) return <p role="status">Nothing would change.</p>;
  const shown = days.slice(0, DAYS_SHOWN);
  return (
    <div class="effect" role="status">
      <p>
        This would change {countText(dayCount)} {dayCount === 1 ? 'day' : 'days'}. Nothing is stored yet.
      </p>
      <table>
        <thead>
          <tr>
            <th scope="col">Day</th>
            <th scope="col" class="number">
              Before
            </th>
            <th scope="col" class="number">
              After
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ day, source, beforeWh, afterWh }) => (
            <tr key={`${day} ${source}`}>
              <th scope="row">{longDay(day)}</th>
              <td class="number">{beforeWh === null ? 'none' : exactEnergy(beforeWh)}</td>
              <td class="number">{afterWh === null ? 'none' : exactEnergy(afterWh)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {dayCount > shown.length && <p class="muted">And {countText(dayCount - shown.length)} more.</p>}
    </div>
  );
}
