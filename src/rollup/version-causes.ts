/**
 * Why a day that is over has a new version, with the words of each cause. Chapter 90 of sql/rollup stores
 * them in `daily_energy_history`.
 */
export const versionCauses = {
  stream: 'late readings of the stream',
  import: 'an import',
  backfill: 'a backfill',
  configuration: 'changed settings',
  zone: 'another time zone',
  learnt: 'limits learnt from later readings',
  rules: 'other rules of another version of Wattline',
  correction: 'a correction by a person',
  retried: 'a series that failed was computed again',
} as const;
export type VersionCause = keyof typeof versionCauses;

export const versionCauseNames = Object.keys(versionCauses) as [VersionCause, ...VersionCause[]];

/** All causes with their words, for descriptions. */
export const versionCauseList = versionCauseNames.map((name) => `${name}: ${versionCauses[name]}`).join('; ');
