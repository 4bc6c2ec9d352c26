import { X509Certificate } from 'node:crypto';
import type { Config, WorkgroupConfig } from '../config/config.ts';
import type { MqttInput } from '../config/input-settings.ts';
import { probeBroker } from '../inputs/probe-broker.ts';
import { createMessageReader } from '../inputs/read-mqtt-message.ts';
import type { Clock } from '../lib/time.ts';
import { askEach } from './ask-each.ts';
import { endFacts } from './end-facts.ts';
import { type Check, type Fact, ok, problem } from './run-checks.ts';

interface Broker {
  workgroup: WorkgroupConfig;
  settings: MqttInput;
}

/**
 * The MQTT brokers: reachable, with a user who may read the topics of the rules, and certificates that do not
 * end soon.
 */
export function checkInputs({ workgroups }: Pick<Config, 'workgroups'>, clock: Clock): Check[] {
  const brokers = workgroups.flatMap((workgroup) =>
    (workgroup.inputs?.mqtt ?? []).map((settings) => ({ workgroup, settings })),
  );
  if (brokers.length === 0) return [];
  const next = 'check url, and whether the broker runs and a firewall lets this machine reach it';
  return [
    {
      name: 'inputs',
      run: (signal) => askEach(brokers, { kind: 'brokers', nameOf, next, ask }, signal),
    },
  ];

  async function ask(broker: Broker, signal: AbortSignal): Promise<Fact[]> {
    const { workgroup, settings } = broker;
    const { filters } = createMessageReader(workgroup, settings.rules);
    const clientId = settings.clientId ?? `wattline-${workgroup.id}-${settings.id}`;
    const own = certificateFacts(broker, clock.now());
    const refusal = await probeBroker(settings, { clientId, filters }, signal);
    const answer = refusal
      ? problem(`${nameOf(broker)}: ${refusal.found}`, refusal.next ?? next)
      : ok(`${nameOf(broker)} answers and allows the topics`);
    return [answer, ...own];
  }
}

function nameOf({ workgroup, settings }: Broker): string {
  return `the broker ${new URL(settings.url).host} of input "${settings.id}" of workgroup "${workgroup.id}"`;
}

/**
 * The certificates of the configuration. The certificate of the broker is checked with the certificates of
 * other servers.
 */
function certificateFacts({ workgroup, settings }: Broker, nowMs: number): Fact[] {
  const named = [
    ['clientCertificate', settings.clientCertificate, 'ask the operator of the broker for a new one'],
    ['ca', settings.ca, 'write that of the new authority into it'],
  ] as const;
  return named.flatMap(([name, pem, next]) => {
    if (pem === undefined) return [];
    const what = `${name} of input "${settings.id}" of workgroup "${workgroup.id}"`;
    try {
      return endFacts(what, Date.parse(new X509Certificate(pem).validTo), nowMs, { next });
    } catch {
      return [problem(`${what} is not a certificate`, 'it must be the text of a PEM file')];
    }
  });
}
