import { describe, expect, onTestFinished, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { keepConnected } from '../../src/inputs/mqtt-connection.ts';
import { brokerMissing, startBroker } from '../support/mosquitto.ts';
import { testCertificate, testCertificateKey } from '../support/test-certificate.ts';
import { until } from '../support/until.ts';
import { startWebSocketGateway } from '../support/web-socket-gateway.ts';
import { useBroker } from './mqtt-fixture.ts';

const { broker, setUp } = useBroker();

describe.skipIf(brokerMissing)('an MQTT input', () => {
  test('connects again after the broker was restarted, and loses nothing', { tags: ['slow'] }, async () => {
    const { id, start, counter, connected, data } = setUp();
    start();
    await connected();
    await broker().restart(() => until('it is noticed', () => counter.state().connection === 'disconnected'));
    await broker().publish([[`${id}/x/plain`, '1']]);
    await connected();
    await broker().publish([[`${id}/x/plain`, '2']]);
    await until('both are stored', () => counter.state().stored === 2);
    expect(await data()).toEqual([{ power: 1 }, { power: 2 }]);
  });

  test('trusts a broker by the authority that the configuration names, and says so if it does not', async () => {
    const { tlsUrl, stop, publish } = await startBroker(undefined, { tls: true });
    onTestFinished(stop);
    const stranger = setUp({ url: tlsUrl! });
    stranger.start();
    await until('the problem shows', () => stranger.counter.state().problem !== undefined);
    expect(stranger.counter.state().problem).toContain('the certificate of the broker is not trusted');
    const trusting = setUp({ url: tlsUrl!, more: { ca: testCertificate } });
    trusting.start();
    await trusting.connected();
    await publish([[`${trusting.id}/x/plain`, '1']]);
    await until('it is stored', () => trusting.counter.state().stored === 1);
    const broken = setUp({ url: tlsUrl!, more: { clientCertificate: 'no PEM', clientKey: 'no PEM' } });
    broken.start();
    await until('the problem shows', () => broken.counter.state().problem !== undefined);
  });

  test.each(['mqtts', 'wss'])('shows its certificate to those who ask for one (%s)', async (protocol) => {
    const own = await startBroker(undefined, { tls: true });
    onTestFinished(own.stop);
    const url = protocol === 'mqtts' ? own.clientTlsUrl! : await startWebSocketGateway(own.port);
    const stranger = setUp({ url, more: { ca: testCertificate } });
    stranger.start();
    await until('the problem shows', () => stranger.counter.state().problem !== undefined);
    expect(stranger.counter.state().problem).toMatch(
      /^the broker wants a certificate of its clients \(.*\); set clientCertificate and clientKey$/,
    );
    const clientCertificate = testCertificate;
    const known = setUp({
      url,
      more: { ca: testCertificate, clientCertificate, clientKey: testCertificateKey },
    });
    known.start();
    await known.connected();
    await own.publish([[`${known.id}/x/plain`, '1']]);
    await until('it is stored', () => known.counter.state().stored === 1);
    expect(await known.data()).toEqual([{ power: 1 }]);
  });

  test('says that a broker cannot be reached, and that the password is wrong', async () => {
    const away = setUp({ url: 'mqtt://127.0.0.1:1' });
    away.start();
    await until('the problem shows', () => away.counter.state().problem !== undefined);
    expect(away.counter.state()).toMatchObject({
      connection: 'disconnected',
      problem: expect.stringContaining('ECONNREFUSED'),
    });
    const strict = await startBroker({ wattline: 'right' });
    onTestFinished(strict.stop);
    const stranger = setUp({ url: strict.url });
    stranger.start();
    await until('the problem shows', () => stranger.counter.state().problem !== undefined);
    expect(stranger.counter.state().problem).toBe(
      'the broker wants a user and a password; set username and password',
    );
  });
});

test('a broker that is away is asked again after a second at first, and after at most a minute later', async () => {
  const settings = configSchema.parse({
    workgroups: [
      {
        id: 'home',
        inputs: {
          mqtt: [
            {
              id: 'house',
              url: 'mqtt://127.0.0.1:1',
              rules: [{ topic: '{device}', table: 'house', fields: { power: 'payload' } }],
            },
          ],
        },
      },
    ],
  }).workgroups[0]!.inputs!.mqtt[0]!;
  const waitsMs: number[] = [];
  const enough = Promise.withResolvers<void>();
  const connection = keepConnected({
    settings,
    clientId: 'me',
    filters: ['#'],
    events: { message: () => undefined, connected: () => undefined, disconnected: () => undefined },
    startTimer(ms, ring) {
      waitsMs.push(ms);
      if (waitsMs.length < 9) ring();
      else enough.resolve();
      return () => undefined;
    },
  });
  await enough.promise;
  await connection.close();
  // Each wait is between a half and the whole of these.
  const longest = [1, 2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1_000);
  for (const [index, waitMs] of waitsMs.entries()) {
    expect(waitMs).toBeLessThanOrEqual(longest[index]!);
    expect(waitMs).toBeGreaterThanOrEqual(longest[index]! / 2);
  }
});
