import type { WorkgroupConfig } from '../config/config.ts';
import { readDevice } from '../decode/device-words.ts';
import { InputError } from '../lib/errors.ts';
import { nameUuid } from '../lib/name-uuid.ts';
import type { Mapping } from './import-mapping.ts';

/** Finds the device of a text in a file: a UUID in any case, or a known name. */
export interface Devices {
  /** @returns the words of its UUID as in `MessageColumns.device`; undefined if it is unknown */
  find(text: string): Uint32Array | undefined;
  /** The same for a UUID as DuckDB holds it: a signed integer of 128 bits. */
  wordsOfUuid(id: bigint): Uint32Array;
}

/** The device of a file without a device. `replay` uses it too. */
export const LONE_DEVICE = '00000000-0000-4000-8000-000000000001';
/** Texts of a file that are remembered. A column of devices has fewer. */
const KNOWN_MAX = 100_000;

/** @throws InputError if the mapping's device is an unknown name */
export function createDevices(
  workgroup: Pick<WorkgroupConfig, 'id' | 'devices'>,
  { device }: Mapping,
): Devices {
  const names = new Map(
    workgroup.devices.flatMap(({ id, name }) => (name === undefined ? [] : [[name, id]])),
  );
  for (const [name, id] of Object.entries(device.names)) names.set(name, id);
  const known = new Map<string, Uint32Array | undefined>();

  function readWords(text: string): Uint32Array | undefined {
    const words = wordsOf(text) ?? wordsOf(names.get(text) ?? '');
    return words ?? (device.unknown === 'derive' ? wordsOf(derivedId(workgroup.id, text)) : undefined);
  }

  function find(text: string): Uint32Array | undefined {
    if (known.has(text)) return known.get(text);
    if (known.size >= KNOWN_MAX) known.clear();
    const words = readWords(text);
    known.set(text, words);
    return words;
  }

  const uuids = new Map<bigint, Uint32Array>();
  function wordsOfUuid(id: bigint): Uint32Array {
    let words = uuids.get(id);
    if (!words) {
      if (uuids.size >= KNOWN_MAX) uuids.clear();
      words = Uint32Array.from([0n, 32n, 64n, 96n], (shift) => Number((id >> shift) & 0xffff_ffffn));
      uuids.set(id, words);
    }
    return words;
  }

  if (device.id !== undefined && !find(device.id)) {
    throw new InputError('the mapping', [
      {
        path: 'device.id',
        message: `"${device.id}" is neither a UUID nor the name of a device in the configuration`,
      },
    ]);
  }
  return { find, wordsOfUuid };
}

function wordsOf(text: string): Uint32Array | undefined {
  const bytes = Buffer.from(text);
  const words = new Uint32Array(4);
  return bytes.length === 36 && readDevice(bytes, 0, words, 0) ? words : undefined;
}

/** A UUID that follows from a name, so all imports of a workgroup use the same. */
export function derivedId(workgroupId: string, name: string): string {
  return nameUuid(NAMESPACE, `${workgroupId}/${name}`);
}

const NAMESPACE = Buffer.from('6f1d3b6e5f0c4d3b9a3e2b7c51f0a9d4', 'hex');
