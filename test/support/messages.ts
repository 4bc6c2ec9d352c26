import { type EncodedBatch, encodeMessages } from '../../src/contract/encode-messages.ts';
import type { StreamMessage, TelemetryItem } from '../../src/contract/messages.ts';
import type { StreamLog } from '../../src/stream/log/stream-log.ts';
import { decodeCborSequence } from './decode-cbor-sequence.ts';

/** The device id with this number. The id contains the number. */
export function deviceId(number: number): string {
  return `0b0e7c1e-0000-4000-8000-${String(number).padStart(12, '0')}`;
}

/** Telemetry items of one device, numbered from `first` in `msg_id`. */
export function telemetry(count: number, options: { device?: number; first?: number } = {}): TelemetryItem[] {
  const { device = 1, first = 0 } = options;
  return Array.from({ length: count }, (_, index) => ({
    device: deviceId(device),
    source: 'inverter',
    event_time: 1_800_000_000_000 + first + index,
    msg_id: first + index,
    data: { power_w: 1_000 + index, energy_wh: 500_000.5 + index, state: 'run' },
  }));
}

/** Telemetry of ten numeric fields, which is the size of a real message. */
export function wideTelemetry(count: number, devices = 50): TelemetryItem[] {
  const fields = Array.from({ length: 10 }, (_, field) => `measurement_${field}`);
  return Array.from({ length: count }, (_, index) => ({
    device: deviceId(index % devices),
    source: 'inverter',
    event_time: 1_800_000_000_000 + index,
    msg_id: index,
    data: Object.fromEntries(fields.map((field, place) => [field, index * 1.25 + place])),
  }));
}

export function telemetryBatch(
  count: number,
  options: { device?: number; first?: number; table?: string } = {},
): EncodedBatch {
  return encodeMessages(telemetry(count, options), options.table ?? 'solar');
}

/** Decodes the raw items that a log returns. */
export function decodeParts(parts: readonly Uint8Array[]): StreamMessage[] {
  return decodeCborSequence(Buffer.concat(parts)) as StreamMessage[];
}

/** Appends 40 batches of 1 to 7 messages, of five devices and three tables. */
export async function appendMixedBatches(log: Pick<StreamLog, 'append'>): Promise<void> {
  for (let round = 0; round < 40; round++)
    await log.append(
      telemetryBatch(1 + (round % 7), {
        device: round % 5,
        table: ['solar', 'wind', 'hydro'][round % 3]!,
        first: round * 10,
      }),
    );
}
