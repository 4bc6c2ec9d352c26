import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { openAlertBook } from '../../src/alerts/alert-book.ts';
import type { AlertFacts } from '../../src/alerts/alert-facts.ts';
import { createSendAlert } from '../../src/alerts/send-alert.ts';
import { startAlerts } from '../../src/alerts/start-alerts.ts';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { MINUTE_MS } from '../../src/lib/time.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, settle } from '../support/test-clock.ts';
import { until } from '../support/until.ts';
import { silent, startReceiver } from './watch-fixture.ts';

/** The alerts of a workgroup with two alarms. The first message is under way, and not answered yet. */
async function setUp() {
  const receiver = await startReceiver();
  receiver.answers.push(0);
  const clock = createTestClock();
  const dir = join(tempDir(), 'alerts');
  let facts: Partial<AlertFacts> = { silences: [], gaps: [] };
  let rounds = 0;
  const configOf = (workgroups: string[]) =>
    configSchema.parse({
      workgroups: [{ id: 'home' }, { id: 'other' }],
      alerts: { channels: [{ id: 'ops', webhook: { url: receiver.url }, workgroups }] },
    });
  const workgroups = createWorkgroups(configOf(['home']));
  const alerts = startAlerts({
    workgroups,
    send: createSendAlert(undefined),
    startTimer: clock.startTimer,
    clock,
    logger: silentLogger,
    hasBeside: () => false,
    open: () => ({
      book: openAlertBook(createFolderStore(dir), silentLogger),
      isOwner: () => true,
      async readFacts() {
        rounds++;
        return {
          nowMs: clock.now(),
          retentionMs: 24 * 3_600_000,
          nameOf: (device) => device,
          ...facts,
        };
      },
    }),
  });
  onTestFinished(() => alerts.stop());
  const pass = async (what: string, isSo: () => boolean | Promise<boolean>) =>
    until(what, async () => {
      await clock.advance(MINUTE_MS);
      return isSo();
    });
  await pass('nothing is wrong at first', () => rounds > 0);
  facts = { silences: silent('a'), gaps: [{ gapId: 1, reason: 'expired', fromMs: 0, toMs: 1 }] };
  await pass('a message is under way', () => receiver.received.length === 1);
  await pass('both alarms are open', async () => (await alerts.list('home', {})).total === 2);
  return { alerts, receiver, workgroups, configOf };
}

/** Ends the alerts in some way, and answers the message meanwhile. @returns if the end waited for it */
async function endAndAnswer(
  { alerts, receiver }: Awaited<ReturnType<typeof setUp>>,
  end: () => Promise<void>,
): Promise<boolean> {
  let hasEnded = false;
  const ending = end().then(() => {
    hasEnded = true;
  });
  await settle();
  const waits = !hasEnded;
  receiver.answerHeld();
  await ending;
  await until('the answer is noted', () => alerts.sent().get('ops')!.get('told')! >= 1);
  // The next message would begin at once.
  await sleep(50);
  return waits;
}

test.each(['stop', 'leave'] as const)(
  'a message under way is waited for, and the next one is not begun: %s',
  async (end) => {
    const at = await setUp();
    expect(await endAndAnswer(at, () => at.alerts[end]('home'))).toBe(true);
    expect(at.receiver.received).toHaveLength(1);
  },
);

test('a channel that no longer receives a workgroup gets nothing more of it', async () => {
  const at = await setUp();
  await endAndAnswer(at, async () => void at.workgroups.replace(at.configOf(['other'])));
  expect(at.receiver.received).toHaveLength(1);
  expect([at.alerts.covers('home'), at.alerts.covers('other')]).toEqual([false, true]);
});

test('the next message follows the answer to the one before', async () => {
  const { receiver } = await setUp();
  receiver.answerHeld();
  await until('both came', () => receiver.received.length === 2);
  expect(new Set(receiver.titles()).size).toBe(2);
});
