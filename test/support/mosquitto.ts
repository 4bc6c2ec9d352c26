import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { homedir, machine, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { connectAsync } from 'mqtt';
import { freePort } from './free-port.ts';
import { testCertificate, testCertificateKey } from './test-certificate.ts';
import { until } from './until.ts';

/** A real broker on a free port of this machine, with its sessions and messages on the disk. */
export interface TestBroker {
  readonly port: number;
  readonly url: string;
  /** Undefined if it does not listen with TLS. */
  readonly tlsUrl: string | undefined;
  /**
   * The address where clients need the certificate of the tests. Undefined if the broker does not listen with
   * TLS.
   */
  readonly clientTlsUrl: string | undefined;
  /** Ends the broker, and starts it again with what it has stored. */
  restart(whileDown?: () => Promise<void>): Promise<void>;
  /** Publishes messages with QoS 1, in their order, and waits until the broker has them. */
  publish(
    messages: ReadonlyArray<readonly [topic: string, payload: string | Buffer]>,
    options?: { retain?: boolean },
  ): Promise<void>;
  stop(): Promise<void>;
}

interface Programs {
  broker: string;
  passwords: string;
  environment: NodeJS.ProcessEnv;
}

/**
 * The installed broker, or the one that `npm test` has unpacked (.ci/prepare.mjs). Undefined if there is
 * none.
 */
function findPrograms(): Programs | undefined {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const unpacked = join(cache, 'wattline', 'mosquitto');
  const libraries = join(unpacked, 'usr/lib', `${machine()}-linux-gnu`);
  const found = [
    ...(process.env.WATTLINE_TEST_MOSQUITTO
      ? [[process.env.WATTLINE_TEST_MOSQUITTO, 'mosquitto_passwd']]
      : []),
    ...['/usr', '/usr/local', '/opt/homebrew'].map((root) => [
      `${root}/sbin/mosquitto`,
      `${root}/bin/mosquitto_passwd`,
    ]),
    [join(unpacked, 'usr/sbin/mosquitto'), join(unpacked, 'usr/bin/mosquitto_passwd')],
  ].find(([broker]) => existsSync(broker!));
  return (
    found && {
      broker: found[0]!,
      passwords: found[1]!,
      environment: { ...process.env, LD_LIBRARY_PATH: libraries },
    }
  );
}

/** Why tests with a broker are skipped; undefined if there is one. */
export const brokerMissing: string | undefined =
  findPrograms() === undefined
    ? 'no mosquitto: npm test fetches it on Debian and Ubuntu; or set WATTLINE_TEST_MOSQUITTO'
    : undefined;

/**
 * @param users passwords by user; without them anybody may connect
 * @param options.tls also listens with the certificate of the tests, once for all clients and once for those
 *   with a certificate
 */
export async function startBroker(
  users?: Readonly<Record<string, string>>,
  { tls = false, port: wanted }: { tls?: boolean; port?: number } = {},
): Promise<TestBroker> {
  const programs = findPrograms()!;
  const folder = await mkdtemp(join(tmpdir(), 'wattline-mosquitto-'));
  const port = wanted ?? (await freePort());
  const tlsPorts = tls ? [await freePort(), await freePort()] : [];
  const settings = join(folder, 'mosquitto.conf');
  const passwords = join(folder, 'passwords');
  mkdirSync(join(folder, 'data'));
  const lines = [
    `listener ${port} 127.0.0.1`,
    'persistence true',
    `persistence_location ${join(folder, 'data')}/`,
    'max_queued_messages 100000',
    `allow_anonymous ${users === undefined}`,
    // A broker that root starts would change to another user, which cannot read the folder.
    'user root',
    ...(users === undefined ? [] : [`password_file ${passwords}`]),
    ...tlsPorts.flatMap((tlsPort, index) => [
      `listener ${tlsPort} 127.0.0.1`,
      `certfile ${join(folder, 'cert.pem')}`,
      `keyfile ${join(folder, 'key.pem')}`,
      ...(index === 0 ? [] : ['require_certificate true', `cafile ${join(folder, 'cert.pem')}`]),
    ]),
  ];
  writeFileSync(join(folder, 'cert.pem'), testCertificate);
  writeFileSync(join(folder, 'key.pem'), testCertificateKey);
  writeFileSync(settings, `${lines.join('\n')}\n`);
  if (users !== undefined) {
    writeFileSync(passwords, '', { mode: 0o600 });
    for (const [user, password] of Object.entries(users))
      execFileSync(programs.passwords, ['-b', passwords, user, password], {
        env: programs.environment,
        stdio: 'ignore',
      });
  }
  const [user] = Object.keys(users ?? {});
  const credentials = user === undefined ? {} : { username: user, password: users![user]! };
  const url = `mqtt://127.0.0.1:${port}`;

  let broker = await start();
  async function start(): Promise<ChildProcess> {
    const child = spawn(programs.broker, ['-c', settings], { env: programs.environment, stdio: 'ignore' });
    await until(`${basename(programs.broker)} answers`, async () => {
      if (child.exitCode !== null) throw new Error(`mosquitto has ended with ${child.exitCode}`);
      return connectAsync(url, { ...credentials, reconnectPeriod: 0, connectTimeout: 1_000 }, false).then(
        async (client) => {
          await client.endAsync(true);
          return true;
        },
        () => false,
      );
    });
    return child;
  }
  async function end(): Promise<void> {
    const ended = new Promise((resolve) => broker.once('exit', resolve));
    broker.kill('SIGTERM');
    await ended;
  }
  return {
    port,
    url,
    tlsUrl: tls ? `mqtts://127.0.0.1:${tlsPorts[0]}` : undefined,
    clientTlsUrl: tls ? `mqtts://127.0.0.1:${tlsPorts[1]}` : undefined,
    async restart(whileDown) {
      await end();
      await whileDown?.();
      broker = await start();
    },
    async publish(messages, { retain = false } = {}) {
      const client = await connectAsync(url, credentials);
      await Promise.all(
        messages.map(([topic, payload]) => client.publishAsync(topic, payload, { qos: 1, retain })),
      );
      await client.endAsync();
    },
    async stop() {
      await end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
