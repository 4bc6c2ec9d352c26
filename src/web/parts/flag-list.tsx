import type { DayOfSeries } from '../facts/answers.ts';
import { flagName, flagText, flagWords, sortFlags } from '../words/flag-words.ts';

/** Quality flags, worst first, each with its meaning on hover. */
export function FlagList({ flags }: { flags: readonly string[] }) {
  if (flags.length === 0) return <span class="muted">none</span>;
  return (
    <span class="flags">
      {sortFlags(flags).map((flag) => (
        <span key={flag} class={`flag flag-${flagWords[flag]?.rank ?? 'doubtful'}`} title={flagText(flag)}>
          {flagName(flag)}
        </span>
      ))}
    </span>
  );
}

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
