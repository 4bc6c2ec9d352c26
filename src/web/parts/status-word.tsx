import type { DayOfSeries } from '../facts/answers.ts';

/** The status of a day, with its meaning on hover. */
export function StatusWord({ status }: { status: DayOfSeries['status'] }) {
  const titles = {
    provisional: 'it can still change',
    final: 'its period is closed',
    restated: 'it has changed since its period was closed',
  };
  return (
    <span class={`status status-${status}`} title={titles[status]}>
      {status}
    </span>
  );
}
