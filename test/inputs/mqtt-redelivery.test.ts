import { describe, expect, onTestFinished, test } from 'vitest';
import { StreamError } from '../../src/contract/stream-errors.ts';
import type { StreamLog } from '../../src/stream/log/stream-log.ts';
import { startAckGate } from '../support/ack-gate.ts';
import { brokerMissing } from '../support/mosquitto.ts';
import { startQuickTimer } from '../support/quick-timer.ts';
import { until } from '../support/until.ts';
import { memoryLog, useBroker } from './mqtt-fixture.ts';

const { broker, setUp } = useBroker();

describe.skipIf(brokerMissing)('an MQTT input', () => {
  test('stores a message once that the broker delivers again, if it has its own time', async () => {
    const gate = await startAckGate(broker().port);
    onTestFinished(gate.close);
    const { id, start, counter, connected, data } = setUp({ url: `mqtt://127.0.0.1:${gate.port}` });
    gate.onAck = () => 'lose';
    const stop = start();
    await connected();
    const atMs = Date.now() - 60_000;
    await broker().publish([
      [`${id}/x/json`, `{"wh":1,"t":${atMs}}`],
      [`${id}/x/json`, `{"wh":2,"t":${atMs + 1}}`],
      [`${id}/x/plain`, '7'],
    ]);
    await until('all are stored', () => counter.state().stored === 3);
    await stop();
    gate.onAck = () => 'pass';
    start();
    await until('they came again', () => counter.state().received === 6 && counter.state().stored === 4);
    expect(counter.state().repeated).toBe(2);
    expect((await data()).toSorted(byKey)).toEqual([{ power: 7 }, { power: 7 }, { wh: 1 }, { wh: 2 }]);
  });

  test('acknowledges what is stored, and tries again while it cannot be stored, without storing it twice', async () => {
    const gate = await startAckGate(broker().port);
    onTestFinished(gate.close);
    const log = memoryLog();
    let appends = 0;
    const failing: StreamLog = {
      ...log,
      async append(batch) {
        appends++;
        if (appends === 2) await log.append(batch);
        if (appends <= 2) throw new StreamError('StorageUnavailable', 'the disk is full');
        return log.append(batch);
      },
    };
    const url = `mqtt://127.0.0.1:${gate.port}`;
    const input = setUp({ url, log: failing, startTimer: startQuickTimer });
    const { id, start, counter, connected, data } = input;
    const storedAtAck: number[] = [];
    const problems: Array<string | undefined> = [];
    gate.onAck = async () => {
      storedAtAck.push((await data()).length);
      problems.push(counter.state().problem);
      return 'pass' as const;
    };
    start();
    await connected();
    await broker().publish([[`${id}/x/plain`, '1']]);
    await until('it is acknowledged', () => storedAtAck.length > 0);
    expect({ storedAtAck, problems }).toEqual({ storedAtAck: [1], problems: [undefined] });
    expect(counter.state()).toMatchObject({ stored: 1, problem: undefined });
  });

  test('a message that could not be stored before the input was stopped comes again', async () => {
    const log = memoryLog();
    let isFull = true;
    const failing: StreamLog = {
      ...log,
      async append(batch) {
        if (isFull) throw new StreamError('StorageUnavailable', 'the disk is full');
        return log.append(batch);
      },
    };
    const { id, start, counter, connected, data } = setUp({ log: failing });
    const stop = start();
    await connected();
    await broker().publish([[`${id}/x/plain`, '1']]);
    await until('the problem shows', () => counter.state().problem?.endsWith('the disk is full') ?? false);
    await stop();
    isFull = false;
    start();
    await until('it is stored', () => counter.state().stored === 1);
    expect(await data()).toEqual([{ power: 1 }]);
  });

  test('a message that still waits when the connection ends is stored once, because the broker sends it again', async () => {
    const gate = await startAckGate(broker().port);
    onTestFinished(gate.close);
    const log = memoryLog();
    const free = Promise.withResolvers<void>();
    const busy: StreamLog = {
      ...log,
      async append(batch) {
        await free.promise;
        return log.append(batch);
      },
    };
    const url = `mqtt://127.0.0.1:${gate.port}`;
    const { id, start, counter, connected, data } = setUp({ url, log: busy, startTimer: startQuickTimer });
    start();
    await connected();
    await broker().publish([[`${id}/x/plain`, '1']]);
    await until('one is being stored', () => counter.state().received === 1);
    await broker().publish([[`${id}/x/plain`, '2']]);
    await until('one waits', () => counter.state().received === 2);
    gate.cut();
    await until('both came again', () => counter.state().received === 4);
    free.resolve();
    await until('all are stored', () => counter.state().stored === 3);
    // The first one has no time in its payload, so it cannot be found again.
    expect(await data()).toEqual([{ power: 1 }, { power: 1 }, { power: 2 }]);
  });
});

/** By the name of the field. */
function byKey(one: object | undefined, other: object | undefined): number {
  return Object.keys(one ?? {})
    .join()
    .localeCompare(Object.keys(other ?? {}).join());
}
