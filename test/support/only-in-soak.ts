/**
 * Test files that run only in `npm run test:soak`: each starts several processes and waits for leases and time-outs of tens of seconds, or compares what
 * a cheaper test compares with less.
 * CONTRIBUTING.md names the cheaper test that holds each rule in `npm test`.
 */
export const onlyInSoak: readonly string[] = [
  'test/alerts/every-condition.test.ts',
  'test/alerts/handover.test.ts',
  'test/backup/burnt-machine.test.ts',
  'test/flow/bucket-cost.test.ts',
  'test/flow/bucket-damaged.test.ts',
  'test/flow/bucket-failures.test.ts',
  'test/flow/bucket-faults.test.ts',
  'test/flow/bucket-fill.test.ts',
  'test/flow/bucket-handover.test.ts',
  'test/flow/bucket-lossy.test.ts',
  'test/flow/bucket-outage.test.ts',
  'test/flow/bucket-restored.test.ts',
  'test/flow/bucket-takeover.test.ts',
  'test/flow/clock-set.test.ts',
  'test/flow/hibernate-machines.test.ts',
  'test/flow/poison.test.ts',
  'test/flow/socket.test.ts',
  'test/release/tarball.test.ts',
  'test/replica/fight.test.ts',
  'test/rollup/appended.test.ts',
  'test/rollup/many-days.test.ts',
  'test/rollup/nights.test.ts',
  'test/service/presence-machines.test.ts',
  'test/service/two-workers.test.ts',
  'test/stream/log/redis-log-takeover.test.ts',
];
