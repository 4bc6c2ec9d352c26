import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { askInputStates } from '../src/cli/inputs/ask-inputs.ts';
import type { ConfigInput } from '../src/config/config.ts';
import { brokerMissing, startBroker, type TestBroker } from '../test/support/mosquitto.ts';
import { until } from '../test/support/until.ts';
import { createUpProcess, type ServiceProcess } from '../test/support/up-process.ts';
import type { Ratio } from './decode.ts';

const MESSAGES = 60_000;
const LINES_A_BODY = 1_000;
const BODIES = 150;
const BODIES_TO_WARM_UP = 20;
const BODIES_AT_A_TIME = 3;
const WANTED_A_SECOND = 20_000;
const DEVICES = 100;

/**
 * Takes messages that a broker has queued, and then lines over HTTP, into the log of `wattline stream` on the
 * disk. Each is acknowledged after it was synced. The broker or the sender has the other core.
 */
export async function benchInputs(print: (line: string) => void): Promise<Ratio[]> {
  if (brokerMissing !== undefined) {
    print(brokerMissing);
    return [];
  }
  const broker = await startBroker();
  const cwd = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
  const service = await createUpProcess(cwd, configOf(broker), 'stream');
  try {
    const rates = {
      'messages of MQTT': await measureMqtt(broker, service),
      lines: await measureLines(service),
    };
    return Object.entries(rates).flatMap(([name, { perSecond, cpuUs }]) => {
      const perCore = 1e6 / cpuUs;
      print(
        `${name.padEnd(16)} ${perSecond.toFixed(0).padStart(7)} a second, ${perCore.toFixed(0).padStart(7)} for a second of CPU of the service`,
      );
      const against = `against ${WANTED_A_SECOND.toLocaleString('en')} a second`;
      return [
        {
          name: `${name} into the log on the disk, ${against}`,
          ratio: perSecond / WANTED_A_SECOND,
          ratioMin: 1,
        },
        // A machine that also does other work misses the limit above, so the rate for each core is compared
        // too.
        { name: `the same for a core, ${against} of CPU`, ratio: perCore / WANTED_A_SECOND, ratioMin: 1 },
      ];
    });
  } finally {
    await service.stop();
    process.stderr.write(service.errorText());
    await broker.stop();
    rmSync(cwd, { recursive: true, force: true });
  }
}

interface Rate {
  perSecond: number;
  cpuUs: number;
}

function configOf(broker: TestBroker): ConfigInput {
  const time = { from: '/ts', format: 'milliseconds' as const };
  const rules = [
    { topic: 'plant/{device}/state', table: 'solar', fields: { total_wh: '/total', power: '/power' }, time },
  ];
  const inputs = {
    mqtt: [{ id: 'bench', url: broker.url, rules }],
    lines: [{ measurement: 'solar', device: '{device}' }],
  };
  return { workgroups: [{ id: 'bench', inputs }] };
}

/** The broker has all messages before the service connects. */
async function measureMqtt(broker: TestBroker, service: ServiceProcess): Promise<Rate> {
  const state = async () =>
    (await askInputStates(service.config.dataDir)).find(({ kind }) => kind === 'mqtt');
  const connected = () =>
    until('the input is connected', async () => (await state())?.connection === 'connected');
  await service.start();
  await connected();
  await service.stop();
  const nowMs = Date.now();
  const payload = (index: number) =>
    `{"ts":${nowMs - MESSAGES + index},"total":${1_000 + index},"power":${index % 5_000}.5}`;
  await broker.publish(
    Array.from({ length: MESSAGES }, (_, index) => [
      `plant/inverter-${index % DEVICES}/state`,
      payload(index),
    ]),
  );
  await service.start();
  let first: { stored: number; atMs: number; cpuMs: number } | undefined;
  for (;;) {
    const { stored = 0 } = (await state()) ?? {};
    const now = { stored, atMs: performance.now(), cpuMs: cpuMsOf(service) };
    if (stored > 0) first ??= now;
    if (first !== undefined && stored === MESSAGES) return rateOf(first, now);
    await sleep(5);
  }
}

async function measureLines(service: ServiceProcess): Promise<Rate> {
  const nowMs = Date.now();
  let next = 0;
  const send = async (): Promise<void> => {
    const number = next++;
    const lines = Array.from({ length: LINES_A_BODY }, (_, index) => {
      const ms = nowMs - BODIES * LINES_A_BODY + number * LINES_A_BODY + index;
      return `solar,device=inverter-${index % DEVICES} total_wh=${1_000 + index}i,power=${index % 5_000}.5 ${ms}000000`;
    });
    const answer = await fetch(`${service.url}/api/v2/write?bucket=bench`, {
      method: 'POST',
      headers: { authorization: `Token ${service.token}`, 'content-type': 'text/plain' },
      body: lines.join('\n'),
    });
    if (answer.status !== 204)
      throw new Error(`the lines were answered with ${answer.status}: ${await answer.text()}`);
  };
  const sendUntil = async (bodies: number) => {
    while (next < bodies) await send();
  };
  const now = () => ({ stored: next * LINES_A_BODY, atMs: performance.now(), cpuMs: cpuMsOf(service) });
  await sendUntil(BODIES_TO_WARM_UP);
  const first = now();
  await Promise.all(Array.from({ length: BODIES_AT_A_TIME }, () => sendUntil(BODIES)));
  return rateOf(first, now());
}

function rateOf(
  first: { stored: number; atMs: number; cpuMs: number },
  last: { stored: number; atMs: number; cpuMs: number },
): Rate {
  const count = last.stored - first.stored;
  return {
    perSecond: (count * 1_000) / (last.atMs - first.atMs),
    cpuUs: ((last.cpuMs - first.cpuMs) * 1_000) / count,
  };
}

const MS_A_TICK = 10;

/** The CPU time of all threads of a process, as Linux counts it. */
function cpuMsOf({ processId }: ServiceProcess): number {
  const fields = readFileSync(`/proc/${processId}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * MS_A_TICK;
}
