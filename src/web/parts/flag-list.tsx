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
