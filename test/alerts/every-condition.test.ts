import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { alertStore, openAlertBook } from '../../src/alerts/alert-book.ts';
import { conditionNames } from '../../src/alerts/alert-conditions.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS, SECOND_MS } from '../../src/lib/time.ts';
import { createFakeTime, fakeTimeLibrary } from '../support/fake-time.ts';
import { freePort } from '../support/free-port.ts';
import { brokerMissing, startBroker } from '../support/mosquitto.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { createUpProcess } from '../support/up-process.ts';
import { startVendor } from '../support/vendor-server.ts';
import { doubtfulPlant, firstReadings, laterReadings, sendReadings } from './doubtful-plant.ts';
import { startReceiver } from './watch-fixture.ts';

const WAIT_MS = 180_000;
/** The stage of exports runs once a minute. */
const TEST_MS_MAX = 900_000;

test.skipIf(fakeTimeLibrary === undefined || brokerMissing !== undefined)(
  'every condition is reported once by a running service, and once when it is over, also over a kill',
  async () => {
    const [receiver, destination] = [await startReceiver(), await startReceiver()];
    // The destination of an export has no room.
    for (let index = 0; index < 100; index++) destination.answers.push(503);
    const vendor = await startVendor();
    onTestFinished(vendor.close);
    const cwd = tempDir();
    const time = createFakeTime(cwd);
    const brokerPort = await freePort();
    const input = doubtfulPlant({
      dataDir: join(cwd, 'data'),
      alertsUrl: receiver.url,
      destinationUrl: destination.url,
      upstreamUrl: vendor.url,
      brokerPort,
      folder: join(cwd, 'files'),
    });
    const up = await createUpProcess(cwd, input, 'up', time.environment);
    onTestFinished(up.kill);
    /** Runs a command, and repeats it while another process works on the same data. */
    const run = (...words: string[]) =>
      until(words.join(' '), async () => {
        const { code, stderr } = await runCommand(words, { cwd });
        if (code !== 0 && !stderr.includes('another process')) throw new Error(stderr);
        return code === 0;
      });
    const call = async (path: string, method: string, body: string, type = 'application/json') => {
      const headers = { Authorization: `Bearer ${up.token}`, 'Content-Type': type };
      const answer = await fetch(`${up.url}/api/v1/${path}`, { method, headers, body });
      expect(answer.status, await answer.text()).toBeLessThan(300);
    };
    /** A message comes again with its id if the process was killed before it could note that it was sent. */
    const messages = () => [...new Map(receiver.received.map(({ json }) => [json.id, json])).values()];
    const lines = () =>
      messages().flatMap(({ workgroup, condition, kind, body }) =>
        String(body)
          .split('\n')
          .map((line) => `${condition} ${kind}: ${workgroup}: ${line}`),
      );
    const told = (kind: 'raised' | 'recovered', ...conditions: string[]) =>
      Promise.all(
        conditions.map((condition) =>
          until(
            `${condition} is ${kind}`,
            () => {
              up.requireRunning();
              return lines().some((line) => line.startsWith(`${condition} ${kind}: `));
            },
            WAIT_MS,
          ),
        ),
      );
    const budgetOf = (kilowattHours: number) =>
      call(
        'orgs/home/budget-data',
        'PUT',
        `meter_code,period,energy_kwh,scenario\nTHIN,${monthOf(up.config.workgroups[0]!.timezone!)},${kilowattHours},P50\n`,
        'text/csv',
      );

    await up.start();
    // Only what happens after the first look is news.
    for (const { id } of up.config.workgroups) {
      const book = openAlertBook(alertStore(up.config, id), silentLogger);
      await until(
        `all conditions of ${id} were judged`,
        async () => (await book.read()).judged.length === conditionNames.length,
        WAIT_MS,
      );
    }
    await sendReadings(up, firstReadings);
    await budgetOf(10_000);
    vendor.append(1);
    for (const message of vendor.append(9)) message.more = { event_time: 'never' };
    await told('raised', 'disk', 'inputDisconnected', 'deviceSilent', 'quarantine');
    await told('raised', 'deviceIdle', 'coverage', 'dayFlagged', 'budget', 'exportUndelivered');

    // The upstream refuses, and forgets what was not read.
    vendor.tokens = new Set();
    for (const message of vendor.append(4)) message.storeTimeMs = Date.now();
    vendor.trim(vendor.messages.length - 1);
    await told('raised', 'stageLate', 'behind', 'dataLossAhead');
    await up.kill();
    await up.start();
    const askedBefore = vendor.requests.length;
    await until('the service has tried again and again', () => vendor.requests.length > askedBefore + 4);
    expect(lines().filter((line) => line.includes(' recovered: '))).toEqual([]);
    vendor.tokens = undefined;
    await told('recovered', 'stageLate', 'behind', 'dataLossAhead', 'deviceSilent');
    await told('raised', 'gap');

    vendor.restore();
    await run('backfill', '--gaps', '-w', 'far');
    for (const message of vendor.append(40)) message.storeTimeMs = Date.now();
    const broker = await startBroker(undefined, { port: brokerPort });
    onTestFinished(broker.stop);
    destination.answers.length = 0;
    await run('exports', 'run', 'refused');
    await run('exports', 'run', 'kept');
    const file = join(cwd, 'wattline.yaml');
    const settings = parse(readFileSync(file, 'utf8'));
    settings.alerts.conditions.disk.limit = 1e-9;
    writeFileSync(file, stringify(settings));
    await run('reload');
    await told('recovered', 'gap', 'quarantine', 'inputDisconnected', 'exportUndelivered', 'disk');

    await sendReadings(up, laterReadings);
    await budgetOf(0.001);
    await told('recovered', 'deviceIdle', 'coverage', 'budget');
    await told('raised', 'dayRestated');
    // Delivered files are compared with the data once an hour.
    time.set((HOUR_MS + 60 * SECOND_MS) / SECOND_MS);
    await told('raised', 'exportOutdated');
    await run('exports', 'run', 'kept', '--corrected');
    await run('exports', 'run', 'refused', '--corrected');
    /** A day that was restated has no end, and a register that jumped stays as it is. */
    const open = () =>
      lines().filter(
        (line) =>
          line.includes(' raised: ') &&
          !lines().includes(line.replace(' raised: ', ' recovered: ')) &&
          !/^dayRestated|the flag rebase/.test(line),
      );
    await until('all is over', () => open().length === 0, WAIT_MS).catch(() => undefined);
    expect(open()).toEqual([]);
    const all = lines();
    expect(all.toSorted()).toEqual([...new Set(all)].toSorted());
    const raised = new Set(receiver.received.map(({ json }) => json.condition));
    expect([...raised].toSorted()).toEqual([...conditionNames].toSorted());
    const flagged = (flag: string) => all.filter((line) => line.includes(`the flag ${flag}`)).length;
    // Two devices are contradicted, and one of them is read from its power.
    expect([flagged('contradicted'), flagged('substituted'), flagged('rebase')]).toEqual([4, 2, 1]);
  },
  TEST_MS_MAX,
);

/** The month of yesterday. */
function monthOf(timeZone: string): string {
  return new Intl.DateTimeFormat('sv', { timeZone }).format(Date.now() - 24 * HOUR_MS).slice(0, 7);
}
