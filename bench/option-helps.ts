// The options of the benchmarks. They are in a file of their own, because `--help` loads no benchmark.

export const truthHelp = `truth: rolls up recordings whose energy is known, with every kind of fault, and compares each day with the truth.
  --count 450          how many recordings
  --seed 1             which ones: the same seed gives the same recordings
  --fault <name>       only recordings with this fault
  --worst <N>          also the worst day of each of the N worst recordings
  --days <file>        writes every day as CSV, to compare two runs
  --by-day             rolls up after each day, as a service would, instead of once at the end (takes much longer)
  --recording <id>     writes this recording as a case for "wattline replay", rolls nothing up
  --into <folder>      where to, default: the current folder`;

/** The time for which messages are sent, in minutes. */
export const STEADY_MINUTES = 10;
export const steadyServiceHelp = `memory:
  --minutes <n>   how long messages are sent (default ${STEADY_MINUTES}); 120 shows also that the lake is flat after the first hour`;
