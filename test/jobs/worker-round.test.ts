import { expect, test } from 'vitest';
import { createLocalLeases, type Survey } from '../../jobs/leases.ts';
import { createShardDemand } from '../../jobs/shard-demand.ts';
import { createShardOverview } from '../../jobs/shard-overview.ts';
import { createShardRoom } from '../../jobs/shard-room.ts';
import { createWorkerRound } from '../../jobs/worker-round.ts';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS, steadyClockOf } from '../../src/lib/time.ts';
import { createTestClock } from '../support/test-clock.ts';
import { createShardsInMemory, settled } from './shards-in-memory.ts';

const workgroups = createWorkgroups(
  configSchema.parse({ workgroups: [{ id: 'home' }, { id: 'shop' }, { id: 'mill' }] }),
);

/** The rounds of the only worker. */
function setUp(survey?: Survey, { mayTakeMore = true } = {}) {
  const [clock, wallClock] = [createTestClock(), createTestClock()];
  const leases = { ...createLocalLeases(10 * SECOND_MS), ...(survey && { survey: async () => survey }) };
  const { ownedShards, events, open, holdOpenings } = createShardsInMemory({ leases });
  const demand = createShardDemand({
    ownedShards,
    mayTakeMore: () => mayTakeMore,
    hasRoom: () => true,
    onNothingWanted: () => undefined,
  });
  const room = createShardRoom({
    ownedShards,
    openMax: 10,
    hibernateAfterMs: HOUR_MS,
    clock: steadyClockOf(clock),
    hasNews: () => true,
    onMadeRoom: demand.want,
    onRoom: demand.openWanted,
  });
  const handedOver: string[] = [];
  const reviews: Array<{ isClockSet: boolean }> = [];
  const round = createWorkerRound({
    workgroups,
    overview: createShardOverview(leases),
    ownedShards,
    demand,
    room,
    handovers: { handOver: async (id) => void handedOver.push(id) },
    review: async (how) => void reviews.push(how),
    clock: steadyClockOf(clock),
    wallClock,
    logger: silentLogger,
  });
  return {
    events,
    open,
    holdOpenings,
    demand,
    handedOver,
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

test('a round opens the workgroups that nobody has, if they are configured', async () => {
  const { run, events } = setUp({ workers: 1, awake: ['home', 'shop', 'gone'], free: ['home', 'gone'] });
  await run();
  await settled();
  expect(events.filter((event) => event.startsWith('open'))).toEqual(['open home']);
});

test('a round asks no longer for a workgroup that another worker has', async () => {
  const survey = { workers: 2, awake: ['home', 'mill'], free: [] };
  const { run, demand } = setUp(survey, { mayTakeMore: false });
  for (const id of ['home', 'shop']) demand.want(id);
  await run();
  expect(demand.wanted()).toEqual(['shop']);
});

test('who waits for a workgroup that this worker is opening still waits after a round', async () => {
  const { run, demand, holdOpenings } = setUp({ workers: 2, awake: ['home'], free: [] });
  const goOn = holdOpenings();
  const waiting = demand.wake('home');
  await settled();
  await run();
  goOn();
  expect(await waiting).toMatchObject({ workgroupId: 'home' });
});

test('a round hands over what is more than the share of this worker', async () => {
  const { run, open, handedOver } = setUp({ workers: 2, awake: ['home', 'shop', 'mill'], free: [] });
  await open('home', 'shop', 'mill');
  await run();
  expect(handedOver).toEqual(['mill']);
});
