import { expect, test } from 'vitest';
import { createLocalLeases } from '../../jobs/leases.ts';
import { createShardDemand } from '../../jobs/shard-demand.ts';
import { createShardOverview } from '../../jobs/shard-overview.ts';
import { createShardRoom } from '../../jobs/shard-room.ts';
import { createWorkerRound } from '../../jobs/worker-round.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS, steadyClockOf } from '../../src/lib/time.ts';
import { createTestClock } from '../support/test-clock.ts';
import { createShardsInMemory } from './shards-in-memory.ts';

/** The rounds of the only worker, without workgroups. */
function setUp() {
  const [clock, wallClock] = [createTestClock(), createTestClock()];
  const leases = createLocalLeases(10 * SECOND_MS);
  const { ownedShards } = createShardsInMemory({ leases });
  const demand = createShardDemand({
    ownedShards,
    mayTakeMore: () => true,
    hasRoom: () => true,
    onNothingWanted: () => undefined,
  });
  const room = createShardRoom({
    ownedShards,
    openMax: 10,
    hibernateAfterMs: HOUR_MS,
    hasNews: () => true,
    onMadeRoom: demand.want,
    onRoom: demand.openWanted,
  });
  const reviews: Array<{ isClockSet: boolean }> = [];
  const round = createWorkerRound({
    workgroups: { get: () => undefined, list: () => [] },
    overview: createShardOverview(leases),
    ownedShards,
    demand,
    room,
    handovers: { handOver: () => Promise.reject(new Error('there is no other worker')) },
    review: async (how) => void reviews.push(how),
    clock: steadyClockOf(clock),
    wallClock,
    logger: silentLogger,
  });
  return {
    wallClock,
    /** Lets time pass on both clocks. */
    pass(ms: number) {
      clock.leap(ms);
      wallClock.leap(ms);
    },
    /** The reviews that a round begins. */
    async run() {
      await round.run();
      return reviews.splice(0);
    },
  };
}

test('the schedules are reviewed each minute', async () => {
  const { pass, run } = setUp();
  for (let minute = 1; minute <= 2; minute++) {
    pass(MINUTE_MS - 1);
    expect(await run()).toEqual([]);
    pass(1);
    expect(await run()).toEqual([{ isClockSet: false }]);
    expect(await run()).toEqual([]);
  }
});

test.each([
  ['forward', 1],
  ['back', -1],
])(
  'the schedules are reviewed once, and at once, if the clock of the machine was set %s by more than 5 s',
  async (_, sign) => {
    const { wallClock, pass, run } = setUp();
    const setBy = (ms: number) => wallClock.set(wallClock.now() + sign * ms);
    pass(10 * SECOND_MS);
    setBy(5 * SECOND_MS);
    expect(await run()).toEqual([]);
    setBy(5 * SECOND_MS + 1);
    expect(await run()).toEqual([{ isClockSet: true }]);
    pass(10 * SECOND_MS);
    expect(await run()).toEqual([]);
  },
);
