import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Parts of paths of the longest test files, the longest first. Vitest orders files by the durations of the
 * last run, which a fresh clone does not have.
 */
const longest = [
  'test/backup/',
  'test/rollup/rollup-properties',
  'test/flow/',
  'test/service/',
  'test/web/',
  'test/replica/',
  'test/rollup/',
  'test/bench/',
  'test/balance/',
  'test/publish/',
];

/** Starts the longest test files first, so that no processor waits for a long file at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) => {
      const rank = longest.findIndex((part) => moduleId.includes(part));
      return rank === -1 ? longest.length : rank;
    };
    return (await super.sort(files)).sort((one, other) => rankOf(one) - rankOf(other));
  }
}
