import { beforeAll, onTestFinished } from 'vitest';

type End = () => unknown;

/** The functions that close what was opened for all tests of a file. */
let ends: End[] | undefined;

/** Calls `end` when the test has finished, or after the last test if all tests of the file share it. */
export function atEnd(end: End): void {
  if (ends) ends.push(end);
  else onTestFinished(async () => void (await end()));
}

/**
 * Opens something once for all tests of a file or of a `describe`, because a warehouse with data takes a
 * second of the processor. The tests only read it, or only the last one changes it.
 * @throws Error if it is read before or after the tests of the file, such as by a second file that imports it
 */
export function shared<Value>(open: () => Promise<Value>): () => Value {
  let opened: { value: Value } | undefined;
  beforeAll(async () => {
    const own: End[] = [];
    const endAll = async () => {
      opened = undefined;
      for (const end of own.reverse()) await end();
    };
    ends = own;
    try {
      opened = { value: await open() };
    } catch (error) {
      await endAll();
      throw error;
    } finally {
      ends = undefined;
    }
    return endAll;
  });
  return () => {
    if (!opened)
      throw new Error('nothing is open here: call the function that makes it in each file of tests');
    return opened.value;
  };
}
