import { z } from 'zod';
import { serviceLimits } from '../contract/service-limits.ts';
import { MINUTE_MS } from '../lib/time.ts';
import { duration } from './setting-types.ts';

const count = (max: number, defaultCount: number) => z.number().int().min(1).max(max).default(defaultCount);

/** What one caller or one workgroup can use. docs/limits.md lists what happens beyond each limit. */
export const limitsSchema = z
  .strictObject({
    requestsPerMinute: count(10_000_000, serviceLimits.requestsPerMinute),
    connectionsPerProcess: count(1_000_000, serviceLimits.connectionsPerProcess),
    connectionsPerAddress: count(1_000_000, serviceLimits.connectionsPerAddress),
    connectionsPerToken: count(1_000_000, serviceLimits.connectionsPerToken),
    connectionsPerWorkgroup: count(1_000_000, serviceLimits.connectionsPerWorkgroup),
    authenticationTimeout: duration({ minMs: 100, maxMs: MINUTE_MS }).default(serviceLimits.authenticationMs),
    readHold: duration({ minMs: 100, maxMs: serviceLimits.readHoldMs }).default(serviceLimits.readHoldMs),
    namesPerWorkgroup: count(10_000_000, serviceLimits.namesPerWorkgroup),
    tablesPerWorkgroup: count(1_000_000, serviceLimits.tablesPerWorkgroup),
    watchedDevicesPerWorkgroup: count(10_000_000, serviceLimits.watchedDevicesPerWorkgroup),
  })
  .prefault({});
