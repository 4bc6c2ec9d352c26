import type { HealthState } from '../http/health-routes.ts';
import type { InputState } from '../inputs/input-counter.ts';
import { inputProblem } from '../inputs/input-problem.ts';
import type { UtcMs } from '../lib/time.ts';

const LISTED_MAX = 20;

/**
 * The inputs for `/ready` and `/health`. Their problems are listed, and never change the answer: one broker
 * must not take a machine out of service, and another machine would not reach it either. `wattline status`
 * fails with them. Undefined if there are no inputs.
 */
export function inputsState(
  inputs: readonly InputState[],
  nowMs: UtcMs,
  maySeeNames: boolean,
): HealthState | undefined {
  if (inputs.length === 0) return undefined;
  const problems = inputs.flatMap((input) => {
    const problem = inputProblem(input, nowMs);
    return problem ? [`workgroup ${input.workgroupId}: ${problem.message}`] : [];
  });
  return {
    ok: true,
    detail: {
      inputs: inputs.length,
      troubles: problems.length,
      ...(problems.length > 0 && maySeeNames && { problems: problems.slice(0, LISTED_MAX) }),
    },
  };
}
