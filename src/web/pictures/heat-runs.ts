/** Columns of one state that follow each other. @param isEach true for columns with room between them */
export function runsOf<State>(states: readonly State[], isEach: boolean) {
  const runs: Array<{ state: State; from: number; count: number }> = [];
  for (let index = 0; index < states.length; index++) {
    const state = states[index]!;
    const last = runs.at(-1);
    if (!isEach && last?.state === state) last.count += 1;
    else runs.push({ state, from: index, count: 1 });
  }
  return runs;
}
