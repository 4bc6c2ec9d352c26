import { globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The library that shows a process another time, if it is installed. WATTLINE_TEST_FAKETIME may name it. */
export const fakeTimeLibrary: string | undefined =
  process.env.WATTLINE_TEST_FAKETIME ??
  globSync('/usr/{lib,lib64}/{*,.}/{faketime,.}/libfaketimeMT.so.1').sort()[0];

/**
 * The system clock of a process, which a test can set like an operator. The monotonic time does not change.
 */
export interface FakeTime {
  environment: Record<string, string>;
  /** Sets the clock to the real time plus this. */
  set(aheadSeconds: number): void;
}

export function createFakeTime(folder: string): FakeTime {
  const file = join(folder, 'time-offset');
  const set = (aheadSeconds: number) =>
    writeFileSync(file, `${aheadSeconds < 0 ? '' : '+'}${aheadSeconds}\n`);
  set(0);
  return {
    set,
    environment: {
      LD_PRELOAD: fakeTimeLibrary ?? '',
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
  };
}
