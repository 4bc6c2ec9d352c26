import type { Problem } from '../lib/errors.ts';
import { formatCountOf } from '../lib/format-count.ts';
import { problemText } from './check-service.ts';
import { type Check, ok, problem, warning } from './run-checks.ts';

/** Finds settings that are valid and probably wrong, in a configuration that could be read. */
export function checkConfiguration(
  workgroups: number,
  find: () => Readonly<{ problems: Problem[]; warnings: Problem[] }>,
): Check {
  return {
    name: 'configuration',
    async run() {
      const { problems, warnings } = find();
      const facts = [
        ...problems.map((one) => problem(problemText(one))),
        ...warnings.map((one) => warning(problemText(one))),
      ];
      return problems.length > 0
        ? facts
        : [ok(`it is valid, with ${formatCountOf(workgroups, 'workgroup')}`), ...facts];
    },
  };
}

/** The configuration cannot be used, so nothing else can be looked at. */
export function refusedConfiguration(problems: readonly Problem[]): Check {
  return {
    name: 'configuration',
    run: async () => [
      ...problems.map((one) => problem(problemText(one))),
      warning('the other checks need a valid configuration', 'correct it, then run this command again'),
    ],
  };
}
