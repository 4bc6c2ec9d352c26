import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import type { Config } from '../config/config.ts';
import { type Clock, formatInstant, SECOND_MS } from '../lib/time.ts';
import { objectUrl } from '../storage/sign-s3.ts';
import { ANSWER_MS, askEach } from './ask-each.ts';
import { endFacts } from './end-facts.ts';
import { type Check, type Fact, ok, problem } from './run-checks.ts';

/** The settings that name servers. */
type Servers = Pick<Config, 'workgroups' | 'alerts' | 'exports' | 'storage' | 'backup' | 'stream' | 'queue'>;

/** Protocols that begin with TLS, and their ports. */
const ports: Readonly<Record<string, number>> = {
  'https:': 443,
  'wss:': 443,
  'mqtts:': 8883,
  'rediss:': 6379,
};

interface TlsServer {
  host: string;
  hostname: string;
  port: number;
  own: Pick<ConnectionOptions, 'cert' | 'key'>;
}

/**
 * The certificates of all servers that the configuration names. The certificate of a mail server is checked
 * together with the server.
 */
export function checkCertificates(config: Servers, clock: Clock): Check[] {
  const servers = serversOf(config);
  if (servers.length === 0) return [];
  return [
    {
      name: 'certificates',
      run: (signal) =>
        askEach(
          servers,
          {
            kind: 'certificates',
            nameOf: ({ host }) => host,
            next: 'check the address and the network',
            ask: async (server) => [await certificateFact(server, clock.now())],
          },
          signal,
        ),
    },
  ];
}

/** Each server once. */
function serversOf({ workgroups, alerts, exports, storage, backup, stream, queue }: Servers): TlsServer[] {
  const inputs = workgroups.flatMap(({ inputs }) => inputs?.mqtt ?? []);
  const urls = [
    ...workgroups.map(({ upstream }) => upstream?.url),
    ...alerts.channels.flatMap(({ webhook, ntfy }) => [webhook?.url, ntfy?.url]),
    ...exports.flatMap(({ destination: { webhook, homeAssistant, s3 } }) => [
      webhook?.url,
      homeAssistant?.url,
      s3 && objectUrl(s3),
    ]),
    ...[storage.s3, backup.s3].map((s3) => s3 && objectUrl(s3)),
    ...(stream.redisSentinels ? [] : [stream.redisUrl]),
    queue.redisUrl,
  ];
  const servers = [
    ...inputs.map(({ url, clientCertificate: cert, clientKey: key }) => serverAt(url, { cert, key })),
    ...urls.map((url) => serverAt(url)),
  ].flat();
  return [...new Map(servers.toReversed().map((server) => [server.host, server])).values()].toReversed();
}

function serverAt(url: string | undefined, own: TlsServer['own'] = {}): TlsServer[] {
  if (url === undefined) return [];
  const { protocol, hostname, port, host } = new URL(url);
  const usual = ports[protocol];
  return usual === undefined ? [] : [{ host, hostname, port: Number(port || usual), own }];
}

/**
 * Reads the certificate without trusting it. The checks that use a server find a certificate that is not
 * trusted.
 */
async function certificateFact({ host, hostname, port, own }: TlsServer, nowMs: number): Promise<Fact> {
  const name = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve) => {
    const socket = connectTls({
      ...own,
      host: name,
      port,
      servername: /[a-z]/i.test(name) && !name.includes(':') ? name : '',
      rejectUnauthorized: false,
      timeout: ANSWER_MS,
    });
    const end = (fact: Fact) => {
      socket.destroy();
      resolve(fact);
    };
    socket.once('secureConnect', () => {
      const endsAtMs = Date.parse(socket.getPeerCertificate().valid_to);
      const next = 'let its operator renew it';
      const [soon] = endFacts(`the certificate of ${host}`, endsAtMs, nowMs, { next });
      end(soon ?? ok(`the certificate of ${host} is valid until ${formatInstant(endsAtMs)}`));
    });
    socket.once('timeout', () =>
      end(problem(`${host} shows no certificate within ${ANSWER_MS / SECOND_MS} s`)),
    );
    socket.once('error', (error) =>
      end(problem(`the certificate of ${host} cannot be read: ${error.message}`)),
    );
  });
}
