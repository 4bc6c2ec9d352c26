import { LRUCache } from 'lru-cache';
import type { WorkgroupConfig } from '../config/config.ts';
import { findDevice } from '../config/find-device.ts';
import { nameUuid } from '../lib/name-uuid.ts';

/** The namespace for ids that are computed from a text. */
const NAMESPACE = Buffer.from('8f1d1c3e2b6a5c0f9d4e7a5b3c2d1e0f', 'hex');

const IDS_KEPT_MAX = 10_000;

/**
 * Finds the id of a device by the text that its messages have. A device of the configuration with this id or
 * name, in any case, comes first. Otherwise the id is the text if it is a UUID, or else the UUID of version 5
 * of the text, which is always the same.
 */
export function createDeviceIds(workgroup: Pick<WorkgroupConfig, 'devices'>): (text: string) => string {
  const known = new LRUCache<string, string>({ max: IDS_KEPT_MAX });
  return (text) => {
    let id = known.get(text);
    if (id === undefined) {
      id = findDevice(workgroup, text) ?? nameUuid(NAMESPACE, text);
      known.set(text, id);
    }
    return id;
  };
}
