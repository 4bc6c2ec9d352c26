import type { Config } from '../config/config.ts';
import { type Clock, formatInstant } from '../lib/time.ts';
import { probeMailServer } from '../mail/probe-mail-server.ts';
import { askEach } from './ask-each.ts';
import { endFacts } from './end-facts.ts';
import { type Check, ok } from './run-checks.ts';

/**
 * The server that takes mails: reachable, with TLS and a login that it accepts, and a certificate that does
 * not end soon. No mail is sent.
 */
export function checkMail({ mail }: Pick<Config, 'mail'>, clock: Clock): Check[] {
  if (mail === undefined) return [];
  const server = `the mail server ${mail.host}:${mail.port}`;
  return [
    {
      name: 'mail',
      run: (signal) =>
        askEach(
          [mail],
          {
            kind: 'mail servers',
            nameOf: () => server,
            next: 'check mail.host, mail.port and the firewall',
            async ask(settings, within) {
              const { certificateEndsAtMs: endsAtMs } = await probeMailServer(settings, within);
              const login = settings.user === undefined ? 'no login is configured' : 'it accepts the login';
              const until =
                endsAtMs === undefined ? '' : `, its certificate is valid until ${formatInstant(endsAtMs)}`;
              const next = 'let its operator renew it';
              return [
                ok(`${server} answers, ${login}${until}; only a mail shows whether it takes the sender`),
                ...(endsAtMs === undefined
                  ? []
                  : endFacts(`the certificate of ${server}`, endsAtMs, clock.now(), { next })),
              ];
            },
          },
          signal,
        ),
    },
  ];
}
