import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { ConfigInput } from '../src/config/config.ts';
import { readStatuses } from '../src/pipeline/workgroup-status.ts';
import type { ServiceProcess } from '../test/support/up-process.ts';
import type { Ratio } from './decode.ts';
import { processMemory } from './process-costs.ts';
import { withService } from './with-service.ts';

const MESSAGES_A_SECOND = 20_000;
const SAMPLE_SECONDS = 2;
const PRINT_SECONDS = 10;

/**
 * Resident memory of `wattline up` under a sustained 20,000 messages a second of ten fields, from another
 * thread: it must be flat after the first minute. It also shows if the pipeline keeps up.
 */
export async function benchSoak(print: (line: string) => void, seconds = 120): Promise<Ratio[]> {
  const fields = ['energy_total_wh', 'power_w'] as const;
  const config: ConfigInput = {
    workgroups: [
      {
        id: 'bench',
        energyStreams: [
          { table: 'solar', field: fields[0], method: 'total_energy', unit: 'Wh', maxPower: '10 GW' },
          { table: 'solar', field: fields[1], method: 'power_curve', unit: 'W' },
        ],
      },
    ],
  };
  const { residentMegabytes, lagMessages, sent } = await withService(config, (service) =>
    underLoad(service, print, seconds),
  );
  const mean = (from: number, to: number) => {
    const part = residentMegabytes.slice(from / SAMPLE_SECONDS, to / SAMPLE_SECONDS);
    return part.reduce((sum, one) => sum + one, 0) / part.length;
  };
  const [third, fourth] = [mean(60, 90), mean(90, seconds)];
  print(`resident, mean: ${third.toFixed(0)} MB in the third half minute, ${fourth.toFixed(0)} MB after it`);
  return [
    { name: 'memory: the third half minute against what follows', ratio: third / fourth, ratioMin: 0.9 },
    { name: 'messages a second, of 20,000', ratio: sent / seconds / MESSAGES_A_SECOND, ratioMin: 0.99 },
    { name: 'share of the messages sent that had landed', ratio: 1 - lagMessages / sent, ratioMin: 0.95 },
  ];
}

async function underLoad(
  { url, token, processId, config }: ServiceProcess,
  print: (line: string) => void,
  seconds: number,
) {
  const load = new Worker(new URL('./soak-load.ts', import.meta.url), {
    workerData: { url, token, workgroup: 'bench', messagesASecond: MESSAGES_A_SECOND },
  });
  let sent = 0;
  load.on('message', (count: number) => {
    sent = count;
  });
  const residentMegabytes: number[] = [];
  let lagMessages = 0;
  try {
    for (let second = SAMPLE_SECONDS; second <= seconds; second += SAMPLE_SECONDS) {
      await sleep(SAMPLE_SECONDS * 1_000);
      const memory = processMemory(processId!);
      const status = readStatuses(config.dataDir)[0];
      lagMessages = sent - (status?.poll.messages ?? 0);
      residentMegabytes.push(memory.resident);
      if (second % PRINT_SECONDS > 0) continue;
      print(
        `${String(second).padStart(4)} s  resident ${memory.resident} MB (anonymous ${memory.anonymous}, files ${memory.files})  sent ${sent}  not landed yet ${lagMessages}  generation ${status?.publish.generation ?? '-'}`,
      );
    }
  } finally {
    await load.terminate();
  }
  return { residentMegabytes, lagMessages, sent };
}
