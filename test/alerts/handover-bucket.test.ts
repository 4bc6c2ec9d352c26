import { expect, test } from 'vitest';
import { HOUR_MS } from '../../src/lib/time.ts';
import { workgroupStore } from '../../src/storage/workgroup-store.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { TEST_START_MS } from '../support/test-clock.ts';
import { openWatch, startReceiver } from './watch-fixture.ts';

test.skipIf(s3Missing !== undefined)(
  'after a handover on a bucket an alert is not repeated, its recovery comes once, and the old owner sends nothing',
  async () => {
    const receiver = await startReceiver();
    const kinds = () => receiver.received.map(({ json }) => `${json.kind} ${json.count}`);
    const settings = { channels: [{ id: 'ops', webhook: { url: receiver.url } }] };
    const s3 = await s3ForTests();
    const owner = () => openWatch(settings, { store: workgroupStore({ s3 }, 'home')! });
    const silent = (...devices: string[]) =>
      devices.map((device) => ({ device, silentMs: 2 * HOUR_MS, lastSeenMs: TEST_START_MS }));
    const [first, second, third] = [owner(), owner(), owner()];
    first.facts.silences = silent('d1');
    await first.round();
    expect(kinds()).toEqual(['raised 1']);

    second.facts.silences = silent('d1');
    await second.round();
    // The first one does not know that it was replaced.
    first.facts.silences = silent('d1', 'd2');
    await first.watch.round();
    await first.watch.settled();
    expect(kinds()).toEqual(['raised 1']);

    await second.watch.leave();
    third.facts.silences = silent('d1');
    await third.round();
    third.facts.silences = [];
    second.facts.silences = [];
    await third.round();
    await third.round();
    await second.watch.round();
    await second.watch.settled();
    expect(kinds()).toEqual(['raised 1', 'recovered 1']);
    expect((await third.watch.state()).alarms).toEqual([]);
  },
);
