import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../contract/wire-limits.ts';
import { formatCountOf } from '../lib/format-count.ts';
import { SECOND_MS } from '../lib/time.ts';
import { must } from './breach.ts';
import type { Probe } from './probe.ts';
import { contractSections, type Rule } from './rule.ts';
import { ownMessages, readToTail, sendOwn, telemetryItem } from './sample-messages.ts';
import { type Batch, batchOf } from './server-answer.ts';

const IDLE_MS = SECOND_MS;
/** The time that the network and a busy server may add to the wait. */
const TOLERANCE_MS = 700;
const WRITE_AFTER_MS = 500;
const HOLD_MS = limits.readHoldMsMax;
const TRICKLE_EVERY_MS = 500;

/** Rules on how long a read waits for messages. */
export const waitRules: readonly Rule[] = [
  {
    id: 'wait.idle',
    says: 'A read that has everything is answered after 1 s without a message',
    source: contractSections.wait,
    timed: true,
    async check(probe) {
      const { tookMs, sent } = await heldRead(probe, probe.quietTable);
      must(tookMs >= IDLE_MS - 100, () => `an answer after ${Math.round(tookMs)} ms`, sent);
      must(tookMs <= IDLE_MS + TOLERANCE_MS, () => `an answer after ${Math.round(tookMs)} ms`, sent);
    },
  },
  {
    id: 'wait.reset',
    says: 'A new message that the caller may read is returned, and the second starts again',
    source: contractSections.wait,
    needs: ['write'],
    timed: true,
    async check(probe) {
      await ownMessages(probe);
      const { batch, sinceWriteMs } = await readDuringWrite(probe, probe.table);
      must(
        batch.messages.length === 1,
        () => `${batch.messages.length} messages instead of the one sent meanwhile`,
        batch.sent,
      );
      must(
        sinceWriteMs >= IDLE_MS - 100,
        () => `an answer ${Math.round(sinceWriteMs)} ms after the message`,
        batch.sent,
      );
    },
  },
  {
    id: 'wait.filtered',
    says: 'A message that the caller may not read does not make the read longer',
    source: contractSections.wait,
    needs: ['write'],
    timed: true,
    async check(probe) {
      await ownMessages(probe);
      const { batch, sinceWriteMs } = await readDuringWrite(probe, probe.quietTable);
      must(
        sinceWriteMs < IDLE_MS - 50,
        () => `an answer ${Math.round(sinceWriteMs)} ms after the message`,
        batch.sent,
      );
    },
  },
  {
    id: 'wait.hold',
    says: `No read is held longer than ${HOLD_MS / SECOND_MS} s, also with a message every half second`,
    source: contractSections.wait,
    needs: ['write', 'slow'],
    async check(probe) {
      await ownMessages(probe);
      const held = heldRead(probe, probe.table);
      const whenOver = held.then(
        () => true,
        () => true,
      );
      for (let sent = 0; sent * TRICKLE_EVERY_MS < HOLD_MS + 2_000; sent++) {
        await sendOwn(probe, [telemetryItem(probe, sent)]);
        if (await Promise.race([whenOver, sleep(TRICKLE_EVERY_MS, false)])) break;
      }
      const { tookMs, messages, sent } = await held;
      must(
        tookMs > HOLD_MS - 1_000,
        () => `an answer after ${Math.round(tookMs)} ms, though messages came`,
        sent,
      );
      must(tookMs < HOLD_MS + TOLERANCE_MS, () => `an answer after ${Math.round(tookMs)} ms`, sent);
      must(messages.length > 20, () => `${formatCountOf(messages.length, 'message')} of about 40`, sent);
    },
  },
];

/** Reads at the end of a table. The server may hold the read. */
async function heldRead(probe: Probe, table: string): Promise<Batch> {
  const { nextOffset } = await readToTail(probe, '', { table });
  return batchOf(await probe.read(`offset=${nextOffset}`, { table, held: true }));
}

/** Sends a message to the probe's table while a read of a table is held. */
async function readDuringWrite(probe: Probe, table: string): Promise<{ batch: Batch; sinceWriteMs: number }> {
  const { nextOffset } = await readToTail(probe, '', { table });
  const held = probe.read(`offset=${nextOffset}`, { table, held: true });
  held.catch(() => undefined);
  await sleep(WRITE_AFTER_MS);
  const { atMs } = await sendOwn(probe, [telemetryItem(probe, 0)]);
  const answer = await held;
  return { batch: batchOf(answer), sinceWriteMs: answer.endedMs - atMs };
}
