import type { ComponentChildren } from 'preact';

/** A state as a word with a sign. Signs differ by their shape, not only by colour. */
export type StateKind = 'good' | 'noted' | 'doubtful' | 'bad' | 'calm';

const shapes: Readonly<Record<StateKind, string>> = {
  good: 'M2.5 7.5l3 3 6-7',
  noted: 'M7 6v5M7 3v.2',
  doubtful: 'M7 2L13 12.5H1ZM7 6v3M7 10.8v.2',
  bad: 'M3 3l8 8M11 3l-8 8',
  calm: 'M3 7h8',
};

export function StateWord({ kind, children }: { kind: StateKind; children: ComponentChildren }) {
  return (
    <span class={`state-word state-word-${kind}`}>
      <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">
        <path d={shapes[kind]} />
      </svg>
      {children}
    </span>
  );
}
