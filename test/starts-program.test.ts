import { expect, test } from 'vitest';
import { canStartProgram } from './support/starts-program.ts';

test.each([
  ['a test of plain functions', false, 'test/lib/time.test.ts'],
  ['a test that imports only types of the program', false, 'test/cli/exports-view.test.ts'],
  ['a test that starts processes', true, 'test/flow/kill.test.ts'],
  ['a test that starts threads through the program', true, 'test/pipeline/pipeline.test.ts'],
  ['a module with dynamic imports', true, 'src/cli/main.ts'],
])('%s can start the program: %s', (_, expected, path) => {
  expect(canStartProgram([path])).toBe(expected);
});

test('one of several files is enough', () => {
  expect(canStartProgram(['test/lib/time.test.ts', 'test/flow/kill.test.ts'])).toBe(true);
});
