// Prints the test files that failed in a run of vitest, one a line, from its report in JSON (first argument).
// Exits with 1 if a second try makes no sense: the run did not reach its end, no file failed, or too many did.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

/** More failing files than this are a defect and not a busy machine. */
const FAILED_FILES_MAX = 8;

/** Reads the report. @returns undefined if there is none, as after a failed type check */
function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

const report = readReport(process.argv[2]);
const failed = (report?.testResults ?? [])
  .filter((file) => file.status === 'failed')
  .map((file) => relative(process.cwd(), file.name));
if (failed.length === 0 || failed.length > FAILED_FILES_MAX) {
  process.stderr.write(
    `No second try: ${report === undefined ? 'the tests did not run to their end' : `${failed.length} test files failed`}.\n`,
  );
  process.exit(1);
}
process.stdout.write(`${[...new Set(failed)].join('\n')}\n`);
