import type { DayChange } from '../facts/answers.ts';

/** What is different with a day that changed after it was closed. */
export const changeKindWords: Readonly<Record<string, string>> = {
  restated: 'changed',
  added: 'new energy',
  withdrawn: 'withdrawn',
  provisional: 'was not final yet',
};

/** Why there is a new version of a day. */
export const causeWords: Readonly<Record<DayChange['causes'][number], string>> = {
  stream: 'late data of the stream',
  import: 'an import',
  backfill: 'a backfill',
  configuration: 'changed settings',
  zone: 'another time zone',
  learnt: 'learnt limits have changed',
  rules: 'another version of the rules',
  correction: 'a correction by a person',
  retried: 'a series that failed was computed again',
};
