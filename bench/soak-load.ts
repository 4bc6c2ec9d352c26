import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { Pool } from 'undici';
import { encodeCbor } from '../src/cbor/cbor-codec.ts';

/**
 * Sends a number of messages each second, and reports how many were sent. Each has ten numeric fields. The
 * messages come from 200 devices. Their readings are close together in time.
 */
const DEVICES = 200;
const { url, token, workgroup, messagesASecond } = workerData as {
  url: string;
  token: string;
  workgroup: string;
  messagesASecond: number;
};
const BATCH = 2_000;
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/cbor' };
const pool = new Pool(url, { connections: 2 });
const startMs = Date.now();
let sent = 0;

for (;;) {
  const items = Array.from({ length: BATCH }, (_, index) => item(sent + index));
  const answer = await pool.request({
    method: 'POST',
    path: `/api/v1/tables/${workgroup}/solar/messages`,
    headers,
    body: encodeCbor(items),
  });
  await answer.body.dump();
  if (answer.statusCode !== 200) throw new Error(`ingest answered with ${answer.statusCode}`);
  sent += BATCH;
  parentPort!.postMessage(sent);
  const ahead = (sent / messagesASecond) * 1_000 - (Date.now() - startMs);
  if (ahead > 0) await sleep(ahead);
}

function item(number: number) {
  const device = number % DEVICES;
  const step = Math.floor(number / DEVICES);
  return {
    device: `5f1d${device.toString(16).padStart(4, '0')}-9c3e-4b1a-8f6d-000000000001`,
    source: 'pv',
    // A hundred readings a second of each device, ten milliseconds apart.
    event_time: startMs + step * 10,
    msg_id: number,
    data: {
      energy_total_wh: 12_000_000 + step,
      power_w: 3_000 + (number % 700),
      voltage_v: 229.5 + (number % 11) / 10,
      current_a: 13.1 + (number % 7) / 100,
      frequency_hz: 49.98 + (number % 5) / 100,
      temperature_c: 41.5,
      dc_power_w: 3_120 + (number % 900),
      dc_voltage_v: 612.25,
      efficiency: 0.9625,
      state_code: number % 3,
    },
  };
}
