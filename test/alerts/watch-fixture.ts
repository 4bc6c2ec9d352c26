import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openAlertBook } from '../../src/alerts/alert-book.ts';
import type { AlertFacts } from '../../src/alerts/alert-facts.ts';
import { createSendAlert } from '../../src/alerts/send-alert.ts';
import { createWorkgroupWatch, type WorkgroupWatch } from '../../src/alerts/watch-workgroup.ts';
import { alertsSchema } from '../../src/config/alert-settings.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS } from '../../src/lib/time.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, TEST_START_MS, type TestClock } from '../support/test-clock.ts';

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  text: string;
  /** The body, if it is JSON. */
  json: Record<string, unknown>;
}

/**
 * A real receiver. `answers`: statuses for the next requests, then 204. 0 does not answer before
 * `answerHeld`.
 */
export async function startReceiver() {
  const received: Received[] = [];
  const answers: number[] = [];
  const held: ServerResponse[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const text = Buffer.concat(parts).toString('utf8');
    const json = text.startsWith('{') ? JSON.parse(text) : {};
    received.push({ path: request.url ?? '', headers: request.headers, text, json });
    const status = answers.shift() ?? 204;
    if (status === 0) held.push(response);
    else response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    received,
    answers,
    answerHeld() {
      for (const response of held.splice(0)) response.writeHead(204).end();
    },
    titles: () => received.map(({ json }) => String(json.title)),
  };
}

export interface WatchFixture {
  watch: WorkgroupWatch;
  clock: TestClock;
  store: ObjectStore;
  /** The facts that the next round judges. */
  facts: Omit<AlertFacts, 'nowMs' | 'nameOf' | 'retentionMs'>;
  owner: { isOwner: boolean };
  /** Replaces the settings, as a reload does. */
  configure(settings: unknown): void;
  /** Judges, and waits for the messages. */
  round(): Promise<void>;
}

/** The alerts of the workgroup `home`, with a real store in a folder. */
export function openWatch(
  settings: unknown,
  { store = createFolderStore(join(tempDir(), 'alerts')), clock = createTestClock() } = {},
): WatchFixture {
  const facts: WatchFixture['facts'] = {};
  const owner = { isOwner: true };
  let current = alertsSchema.parse(settings);
  const watch = createWorkgroupWatch({
    workgroupId: 'home',
    settings: () => current,
    book: openAlertBook(store, silentLogger),
    readFacts: async () => ({
      ...facts,
      nowMs: clock.now(),
      retentionMs: 24 * 3_600_000,
      nameOf: (device) => device,
    }),
    isOwner: () => owner.isOwner,
    speaksForMachine: () => true,
    send: createSendAlert(undefined),
    clock,
    logger: silentLogger,
  });
  return {
    watch,
    clock,
    store,
    facts,
    owner,
    configure(next) {
      current = alertsSchema.parse(next);
    },
    async round() {
      await watch.round();
      await watch.settled();
    },
  };
}

/** Devices that have been silent for two hours. */
export const silent = (...devices: string[]) =>
  devices.map((device) => ({ device, silentMs: 2 * HOUR_MS, lastSeenMs: TEST_START_MS }));
