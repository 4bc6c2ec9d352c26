import { describe, expect, test } from 'vitest';
import { alertConditions, conditionNames } from '../../src/alerts/alert-conditions.ts';
import type { ConditionName } from '../../src/config/alert-settings.ts';
import { createInputCounter } from '../../src/inputs/input-counter.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/lib/time.ts';
import { inputFact } from '../../src/service/alert-facts-reader.ts';
import { TEST_START_MS } from '../support/test-clock.ts';
import { openWatch, startReceiver, type WatchFixture } from './watch-fixture.ts';

type Facts = WatchFixture['facts'];
const day = { day: '2026-11-18', device: 'd1', source: 'pv', seenUntilMs: TEST_START_MS + 5 * DAY_MS };

const rollup = { stage: 'rollup', why: 'the disk is full', isAtWork: false, hasSucceeded: false };
const place = { folder: '/data', machine: 'plant-1' };
const garage = { input: 'garage', address: 'mqtt://broker', problem: 'ECONNREFUSED', losses: 0 };

/**
 * For each condition: facts that just fulfil it, facts that just do not fulfil it, and a part of its
 * sentence.
 */
const cases: Record<ConditionName, { holds: Facts; not: Facts; says: string }> = {
  stageLate: {
    holds: { stages: [{ ...rollup, failingMs: 5 * MINUTE_MS }] },
    not: { stages: [{ ...rollup, failingMs: 5 * MINUTE_MS - 1, hasSucceeded: true }] },
    says: 'rollup: the disk is full',
  },
  behind: { holds: { lagMs: 5 * MINUTE_MS }, not: { lagMs: 5 * MINUTE_MS - 1 }, says: 'more than 5m behind' },
  dataLossAhead: {
    holds: { lagMs: 12 * HOUR_MS },
    not: { lagMs: 12 * HOUR_MS - 1 },
    says: 'they are lost in less than 12h',
  },
  gap: {
    holds: { gaps: [{ gapId: 7, reason: 'expired', fromMs: TEST_START_MS, toMs: TEST_START_MS + HOUR_MS }] },
    not: { gaps: [] },
    says: 'from 2026-11-20T12:00:00.000Z',
  },
  deviceSilent: {
    holds: { silences: [{ device: 'd1', silentMs: HOUR_MS, lastSeenMs: TEST_START_MS - HOUR_MS }] },
    not: { silences: [{ device: 'd1', silentMs: HOUR_MS - 1, lastSeenMs: TEST_START_MS - HOUR_MS }] },
    says: 'd1 has sent nothing since 2026-11-20T11:00Z',
  },
  deviceIdle: {
    holds: { idleDays: [{ ...day, siblings: 2 }] },
    not: { idleDays: [{ ...day, siblings: 1 }] },
    says: 'd1, pv, reports and has 0 Wh on 2026-11-18, while 2 others have energy',
  },
  coverage: {
    holds: { thinDays: [{ ...day, coverage: 0.899 }] },
    not: { thinDays: [{ ...day, coverage: 0.9 }] },
    says: 'has readings for 89 % of 2026-11-18',
  },
  dayFlagged: {
    holds: { flaggedDays: [{ ...day, flag: 'substituted' }] },
    not: { flaggedDays: [{ ...day, flag: 'reset' }] },
    says: 'd1, pv, has the flag substituted on 2026-11-18',
  },
  quarantine: {
    holds: { lastHour: { messages: 9_890, quarantined: 110 } },
    not: { lastHour: { messages: 9_900, quarantined: 100 } },
    says: 'more than 1 % of the messages',
  },
  dayRestated: {
    holds: { restatedDays: [{ ...day, version: 2, beforeWh: 1_000, afterWh: null }] },
    not: { restatedDays: [] },
    says: 'd1, pv, has no energy on 2026-11-18 instead of 1,000 Wh',
  },
  exportOutdated: {
    holds: { exports: [{ id: 'erp', outdatedFiles: 1 }] },
    not: { exports: [{ id: 'erp', outdatedFiles: 0 }] },
    says: 'the data of delivered files of export erp have changed',
  },
  exportUndelivered: {
    holds: {
      exports: [
        {
          id: 'erp',
          outdatedFiles: 0,
          undelivered: { period: '2026-10', dueMs: TEST_START_MS - HOUR_MS, why: 'no answer' },
        },
      ],
    },
    not: { exports: [{ id: 'erp', outdatedFiles: 0 }] },
    says: 'export erp has not delivered 2026-10, which was due more than 1h ago: no answer',
  },
  budget: {
    holds: { budgets: [{ site: 'roof', month: '2026-11', actualWh: 899, budgetWh: 1_000 }] },
    not: { budgets: [{ site: 'roof', month: '2026-11', actualWh: 900, budgetWh: 1_000 }] },
    says: 'roof is more than 10 % below its budget of 2026-11',
  },
  disk: {
    holds: { disk: { freeBytes: 99, sizeBytes: 1_000, ...place } },
    not: { disk: { freeBytes: 100, sizeBytes: 1_000, ...place } },
    says: 'less than 10 % of the disk of dataDir, /data on plant-1, is free',
  },
  inputDisconnected: {
    holds: {
      inputs: [{ ...garage, disconnectedMs: 5 * MINUTE_MS }],
    },
    not: { inputs: [{ ...garage, disconnectedMs: null }] },
    says: 'input garage is not connected to mqtt://broker: ECONNREFUSED',
  },
};

describe('a condition', () => {
  test.each(conditionNames)('%s is reported once when it holds, and once when it is over', async (name) => {
    const { holds, not, says } = cases[name];
    const receiver = await startReceiver();
    const { facts, round, clock } = openWatch({ channels: [{ id: 'ops', webhook: { url: receiver.url } }] });
    Object.assign(facts, not);
    await round();
    expect(receiver.received).toHaveLength(0);

    Object.assign(facts, holds);
    for (let minute = 0; minute <= 10; minute++) {
      await round();
      await clock.advance(MINUTE_MS);
    }
    const own = () => receiver.received.filter(({ json }) => json.condition === name);
    expect(own().map(({ json }) => json.kind)).toEqual(['raised']);
    expect(own()[0]!.json.text).toContain(says);

    Object.assign(facts, not);
    await round();
    await round();
    const isQuiet = name === 'dayRestated';
    expect(own().map(({ json }) => json.kind)).toEqual(isQuiet ? ['raised'] : ['raised', 'recovered']);
  });

  test('of an undelivered file holds from its limit on, and the clock may be set', () => {
    const undelivered = (agoMs: number) =>
      alertConditions.exportUndelivered.find(
        {
          ...{ nowMs: TEST_START_MS, retentionMs: DAY_MS, nameOf: (device) => device },
          exports: [
            { id: 'erp', outdatedFiles: 0, undelivered: { period: '2026-10', dueMs: TEST_START_MS - agoMs } },
          ],
        },
        { limit: HOUR_MS, for: 0 },
      );
    expect([HOUR_MS - 1, HOUR_MS, -HOUR_MS].map((agoMs) => undelivered(agoMs)?.length)).toEqual([0, 1, 1]);
  });

  test('of a budget does not hold for a budget of 0', () => {
    const found = alertConditions.budget.find(
      {
        ...{ nowMs: TEST_START_MS, retentionMs: DAY_MS, nameOf: (device) => device },
        budgets: [{ site: 'roof', month: '2026-11', actualWh: -1, budgetWh: 0 }],
      },
      { limit: 0.1, for: 0 },
    );
    expect(found).toEqual([]);
  });

  test.each(['behind', 'dataLossAhead'] as const)(
    'of the lag is unclear while nothing was read since the start: %s',
    (name) => {
      const find = (facts: Partial<Facts>, limit: number) =>
        alertConditions[name].find(
          { ...{ nowMs: TEST_START_MS, retentionMs: DAY_MS, nameOf: (device) => device }, ...facts },
          { limit, for: 0 },
        );
      const limit = name === 'behind' ? HOUR_MS : HOUR_MS / DAY_MS;
      expect(find({}, limit)).toBeUndefined();
      expect(find({ lagMs: HOUR_MS - 1 }, limit)).toEqual([]);
      expect(find({ lagMs: HOUR_MS - 1, mayLagMore: true }, limit)).toMatchObject([
        { subject: 'stream', isUnclear: true },
      ]);
      const [certain] = find({ lagMs: HOUR_MS, mayLagMore: true }, limit)!;
      expect(certain).not.toHaveProperty('isUnclear');
    },
  );

  test('of inputs holds while a connection ends again and again, and is over once it stays', async () => {
    const receiver = await startReceiver();
    const { facts, round, clock } = openWatch({ channels: [{ id: 'ops', webhook: { url: receiver.url } }] });
    const about = { workgroupId: 'home', input: 'garage', kind: 'mqtt', address: 'mqtt://broker' } as const;
    const meter = createInputCounter({ ...about, connection: 'connecting' }, clock);
    const look = async () => {
      facts.inputs = [inputFact(meter.state(), clock.now())];
      await round();
    };
    const lose = async (calmMs: number) => {
      meter.connection('connected');
      await clock.advance(calmMs);
      await look();
      meter.connection('disconnected', 'another client uses the session');
      await clock.advance(SECOND_MS);
      await look();
    };
    await lose(20 * SECOND_MS);
    await lose(20 * SECOND_MS);
    expect(receiver.received).toHaveLength(0);
    for (let times = 0; times < 20; times++) await lose(20 * SECOND_MS);
    expect(receiver.received.map(({ json }) => json.text)).toEqual([
      'home: Input disconnected\ninput garage loses its connection to mqtt://broker again and again: another client uses the session',
    ]);
    // Connections that end less often do not raise the alert again, and do not end it.
    for (let times = 0; times < 5; times++) await lose(2 * MINUTE_MS);
    expect(receiver.received).toHaveLength(1);
    meter.connection('connected');
    await clock.advance(5 * MINUTE_MS);
    await look();
    expect(receiver.received.map(({ json }) => json.kind)).toEqual(['raised', 'recovered']);
  });

  test('that is off, or has unknown facts, begins no alarm and ends none', async () => {
    const receiver = await startReceiver();
    const channels = [{ id: 'ops', webhook: { url: receiver.url } }];
    const { facts, round } = openWatch({ channels, conditions: { quarantine: 'off' } });
    Object.assign(facts, cases.quarantine.holds, cases.deviceSilent.holds);
    await round();
    delete facts.silences;
    await round();
    Object.assign(facts, cases.deviceSilent.holds);
    await round();
    expect(receiver.titles()).toEqual(['home: Device silent']);
  });

  test('is reported only after it has lasted for its time', async () => {
    const receiver = await startReceiver();
    const channels = [{ id: 'ops', webhook: { url: receiver.url } }];
    const { facts, round, clock } = openWatch({ channels, conditions: { deviceSilent: { for: '10m' } } });
    Object.assign(facts, cases.deviceSilent.holds);
    await round();
    await clock.advance(9 * MINUTE_MS);
    await round();
    Object.assign(facts, cases.deviceSilent.not);
    await round();
    Object.assign(facts, cases.deviceSilent.holds);
    await round();
    await clock.advance(9 * MINUTE_MS);
    // A clock that is set back does not make it longer.
    clock.set(TEST_START_MS - DAY_MS);
    await round();
    expect(receiver.received).toHaveLength(0);
    await clock.advance(MINUTE_MS);
    await round();
    expect(receiver.titles()).toEqual(['home: Device silent']);
  });

  test.each(['gap', 'dayFlagged', 'coverage', 'dayRestated', 'exportOutdated'] as const)(
    'of news does not tell what is there when it is first judged: %s',
    async (name) => {
      const receiver = await startReceiver();
      const { facts, round, watch } = openWatch({
        channels: [{ id: 'ops', webhook: { url: receiver.url } }],
      });
      // Nothing is known yet.
      await round();
      Object.assign(facts, cases[name].holds);
      await round();
      expect(receiver.received).toEqual([]);
      expect((await watch.state()).alarms).toMatchObject([{ condition: name, isKnown: true }]);
    },
  );

  test('of a day is over without a message once the day is out of sight', async () => {
    const receiver = await startReceiver();
    const { facts, round, watch, clock } = openWatch({
      channels: [{ id: 'ops', webhook: { url: receiver.url } }],
    });
    Object.assign(facts, cases.coverage.not, cases.dayFlagged.not);
    await round();
    Object.assign(facts, cases.coverage.holds, cases.dayFlagged.holds);
    await round();
    await clock.advance(day.seenUntilMs - TEST_START_MS - 1);
    facts.thinDays = [];
    await round();
    await clock.advance(1);
    facts.flaggedDays = [];
    await round();
    expect(receiver.titles()).toEqual([
      'home: Day with a doubt',
      'home: Day with missing readings',
      'home: over: Day with missing readings',
    ]);
    expect((await watch.state()).alarms).toEqual([]);
  });

  test('of an idle device stays one alert from day to day', async () => {
    const receiver = await startReceiver();
    const { facts, round } = openWatch({ channels: [{ id: 'ops', webhook: { url: receiver.url } }] });
    facts.idleDays = [{ ...day, siblings: 2 }];
    await round();
    facts.idleDays = [{ ...day, day: '2026-11-19', siblings: 2 }];
    await round();
    expect(receiver.titles()).toEqual(['home: Device without energy']);
  });

  test('that reports news tells only what comes later', async () => {
    const receiver = await startReceiver();
    const { facts, round, watch } = openWatch({ channels: [{ id: 'ops', webhook: { url: receiver.url } }] });
    facts.gaps = [{ gapId: 1, reason: 'expired', fromMs: null, toMs: null }];
    await round();
    const { gaps } = facts;
    // The facts are not known for a moment.
    facts.gaps = undefined;
    await round();
    facts.gaps = [...gaps, { gapId: 2, reason: 'expired', fromMs: null, toMs: null }];
    await round();
    expect(receiver.received.map(({ json }) => json.count)).toEqual([1]);
    facts.gaps = [];
    await round();
    expect(receiver.received.map(({ json }) => [json.kind, json.count])).toEqual([
      ['raised', 1],
      ['recovered', 1],
    ]);
    expect((await watch.state()).alarms).toEqual([]);
  });

  test('that is not true and not over begins no alarm and ends none, as after a start', async () => {
    const receiver = await startReceiver();
    const { facts, round, clock } = openWatch({
      channels: [{ id: 'ops', webhook: { url: receiver.url } }],
    });
    const kinds = () => receiver.received.map(({ json }) => `${json.condition} ${json.kind}`).sort();
    const raised = ['inputDisconnected raised', 'stageLate raised'];
    const unclear = {
      stages: [{ ...rollup, failingMs: 1 }],
      inputs: [{ ...garage, disconnectedMs: 1 }],
    };
    Object.assign(facts, unclear);
    await round();
    // The first run after a start can take long.
    facts.stages = [{ ...rollup, failingMs: 9 * MINUTE_MS, isAtWork: true }];
    await round();
    expect(kinds()).toEqual([]);
    Object.assign(facts, cases.stageLate.holds, cases.inputDisconnected.holds);
    await round();
    expect(kinds()).toEqual(raised);
    Object.assign(facts, unclear);
    await round();
    // A long run is no success.
    facts.stages = [{ ...rollup, failingMs: 9 * MINUTE_MS, isAtWork: true }];
    await round();
    expect(kinds()).toEqual(raised);
    receiver.answers.push(503);
    Object.assign(facts, cases.stageLate.not, cases.inputDisconnected.not);
    await round();
    // The recovery is tried again. Conditions that are unclear meanwhile do not raise a new alert.
    Object.assign(facts, unclear);
    await clock.advance(MINUTE_MS);
    await round();
    await round();
    expect(receiver.received.slice(2).map(({ json }) => json.kind)).toEqual(Array(3).fill('recovered'));
    expect(new Set(kinds())).toEqual(
      new Set([...raised, 'inputDisconnected recovered', 'stageLate recovered']),
    );
  });
});
