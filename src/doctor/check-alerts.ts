import type { AlertChannel } from '../config/alert-settings.ts';
import type { Config } from '../config/config.ts';
import { askEach } from './ask-each.ts';
import { askReceiver, statusOf } from './ask-receiver.ts';
import { type Check, type Fact, ok, problem, warning } from './run-checks.ts';

/** The webhooks and topics of ntfy that receive alerts. Nothing is sent to them. */
export function checkAlerts({ alerts }: Pick<Config, 'alerts'>): Check[] {
  const channels = alerts.channels.filter(({ webhook, ntfy }) => webhook ?? ntfy);
  if (channels.length === 0) return [];
  const next = 'check the address and the network';
  return [
    {
      name: 'alerts',
      run: (signal) => askEach(channels, { kind: 'channels', nameOf, next, ask }, signal),
    },
  ];
}

function nameOf({ id }: AlertChannel): string {
  return `channel "${id}"`;
}

async function ask(channel: AlertChannel, signal: AbortSignal): Promise<Fact[]> {
  const about = nameOf(channel);
  const tryIt = `wattline alerts test ${channel.id}`;
  if (channel.ntfy) return askNtfy(channel.ntfy, { about, tryIt }, signal);
  return channel.webhook ? askReceiver(channel.webhook, { about, tryIt }, signal) : [];
}

/**
 * ntfy answers whether a token may read a topic. It also refuses a token that may only write, although this
 * token can send.
 */
async function askNtfy(
  { url, token }: NonNullable<AlertChannel['ntfy']>,
  { about, tryIt }: { about: string; tryIt: string },
  signal: AbortSignal,
): Promise<Fact[]> {
  const topicUrl = new URL(url);
  topicUrl.pathname = `${topicUrl.pathname.replace(/\/+$/, '')}/auth`;
  const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const answer = await statusOf({ method: 'GET', url: topicUrl.href, headers }, about, signal);
  if (typeof answer !== 'number') return [answer];
  const finding = `ntfy at ${topicUrl.host} answers for ${about} (HTTP ${answer})`;
  const advice = `"${tryIt}" shows whether it takes messages`;
  if (answer === 200) return [ok(`${finding}; ${advice}`)];
  if (answer === 401)
    return [
      problem(
        finding,
        token === undefined ? 'set ntfy.token' : 'the token is wrong or has ended: correct ntfy.token',
      ),
    ];
  if (answer === 403)
    return [warning(finding, `the topic cannot be read; a token that may only write is enough: ${advice}`)];
  return [warning(finding, `it does not answer as ntfy does: check the address; ${advice}`)];
}
