import { sha256Hex } from '../lib/durable-files.ts';

/** Home Assistant stores 255 characters of an id. A device has 36, and the fixed parts have 20. */
const ID_PART_CHARACTERS_MAX = 64;

/**
 * The id of the daily energy of a device, or of one of its sources, in Home Assistant. It allows `a` to `z`,
 * digits and single `_` there. A name that has others gets a hash, so ids of different names differ.
 */
export function energyStatisticId(
  workgroupId: string,
  device: string,
  source: string | null,
): `wattline:${string}` {
  const parts = [
    idPart(workgroupId),
    device.replaceAll('-', '_'),
    ...(source === null ? [] : [idPart(source)]),
  ];
  return `wattline:${parts.join('_')}_energy`;
}

function idPart(text: string): string {
  const plainText = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .slice(0, ID_PART_CHARACTERS_MAX)
    .replaceAll(/^_|_$/g, '');
  if (plainText === text) return plainText;
  const hash = sha256Hex(text).slice(0, 8);
  return plainText === '' ? hash : `${plainText}_${hash}`;
}
