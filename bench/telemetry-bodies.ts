import { type EncodedBatch, encodeMessages, stampMessages } from '../src/contract/encode-messages.ts';
import type { TelemetryItem } from '../src/contract/messages.ts';
import { encodeReadHead } from '../src/stream/encode-read-head.ts';
import { seededRandom } from '../test/support/seeded-random.ts';

/**
 * An answer of the stream. Its messages can get new offsets. So a few bodies are enough for a long stream.
 */
export interface StampableBody {
  body: Uint8Array;
  batch: EncodedBatch;
}

const FIRST_OFFSET = 1_780_000_000_000n << 20n;

/**
 * Bodies with messages like those of a site with inverters, batteries and meters. A message has ten numeric
 * fields with changing values, and some of the values are whole numbers. There are 300 devices, each with one
 * to three sources.
 */
export function telemetryBodies(bodies: number, messages: number): StampableBody[] {
  const random = seededRandom(20261120);
  return Array.from({ length: bodies }, (_, number) => {
    const items = Array.from({ length: messages }, (_, index) => item(random, number * messages + index));
    const encoded = encodeMessages(items, 'solar');
    const header = headerOf(messages, FIRST_OFFSET);
    const body = new Uint8Array(header.length + encoded.bytes.length);
    body.set(header);
    body.set(encoded.bytes, header.length);
    return { body, batch: { ...encoded, bytes: body.subarray(header.length) } };
  });
}

/**
 * Gives the messages of a body the offsets of the answer with this number.
 * @returns the first offset, and the offset to read next
 */
export function stampBody(
  { body, batch }: StampableBody,
  number: number,
): { fromOffset: bigint; nextOffset: bigint } {
  const fromOffset = FIRST_OFFSET + (BigInt(number) << 20n);
  const nextOffset = fromOffset + (1n << 20n);
  stampMessages(batch, fromOffset, 1_780_000_000_000 + number);
  body.set(headerOf(batch.count, nextOffset));
  return { fromOffset, nextOffset };
}

/** The length of a body never changes, because an offset always takes eight bytes. */
function headerOf(count: number, nextOffset: bigint): Uint8Array {
  return encodeReadHead({ count, nextOffset, upToDate: false, earliestOffset: FIRST_OFFSET, epoch: 'bench' });
}

const sources = ['inverter', 'battery', 'grid_meter'];

function item(random: () => number, index: number): TelemetryItem {
  const device = index % 300;
  const minute = Math.floor(index / 300);
  const powerW = Math.round(4_000 * random());
  return {
    device: `5f1d${device.toString(16).padStart(4, '0')}-9c3e-4b1a-8f6d-${(device * 7919).toString(16).padStart(12, '0')}`,
    source: sources[device % (1 + (device % 3))] ?? null,
    event_time: 1_780_000_000_000 + minute * 60_000 + Math.round(random() * 900),
    msg_id: index,
    data: {
      power_w: powerW,
      energy_total_wh: 12_000_000 + minute * 17 + device,
      energy_today_wh: Math.round(minute * 17.3),
      voltage_v: 230 + Math.round(random() * 80) / 10,
      current_a: powerW / 231.7,
      frequency_hz: 50 + Math.round((random() - 0.5) * 40) / 1000,
      temperature_c: Math.round(random() * 600) / 10,
      power_factor: Math.round(random() * 1000) / 1000,
      reactive_power_var: Math.round((random() - 0.5) * 500),
      state_of_charge: Math.round(random() * 100),
    },
  };
}
