import { testAppending } from './log-appending.ts';
import { testLifetime } from './log-lifetime.ts';
import { testReading } from './log-reading.ts';
import { createLogSetUp, type LogImplementation } from './log-under-test.ts';

/** Checks the promises of StreamLog. Every implementation runs it. */
export function testLogConformance(implementation: LogImplementation): void {
  const setUp = createLogSetUp(implementation);
  testAppending(implementation, setUp);
  testReading(implementation, setUp);
  testLifetime(implementation, setUp);
}
