import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { WorkgroupConfig } from '../config/config.ts';
import { findDevice } from '../config/find-device.ts';

/** The namespace of the ids of devices that have no id of their own (RFC 9562, version 5). */
const NAMESPACE = Buffer.from('8f1d1c3e2b6a5c0f9d4e7a5b3c2d1e0f', 'hex');

const IDS_KEPT_MAX = 10_000;

/**
 * Finds the id of a device by the text that its messages have: the device of the configuration with this id or name, in any case; else the text if it
 * is a UUID; else the UUID of version 5 of the text, which is always the same.
 */
export function createDeviceIds(workgroup: Pick<WorkgroupConfig, 'devices'>): (text: string) => string {
  const known = new LRUCache<string, string>({ max: IDS_KEPT_MAX });
  return (text) => {
    let id = known.get(text);
    if (id === undefined) {
      id = findDevice(workgroup, text) ?? uuidOf(text);
      known.set(text, id);
    }
    return id;
  };
}

function uuidOf(text: string): string {
  const bytes = createHash('sha1').update(NAMESPACE).update(text).digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x50;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const digits = bytes.toString('hex');
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    digits.slice(12, 16),
    digits.slice(16, 20),
    digits.slice(20),
  ].join('-');
}
