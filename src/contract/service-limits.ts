import { limits } from './wire-limits.ts';

/** Limits that an operator can change, with their defaults. A unit is the last word of a name. */
export const serviceLimits = {
  /** Requests and new connections of one valid token, and of one address without a token. */
  requestsPerMinute: 6_000,
  /** Connections of socket.io in all. */
  connectionsPerProcess: 8_000,
  /** Connections of one address that are not authenticated yet. One /64 network of IPv6 is one address. */
  connectionsPerAddress: 500,
  connectionsPerToken: 1_000,
  connectionsPerWorkgroup: 5_000,
  /** A connection that is not authenticated after this is closed. */
  authenticationMs: 5_000,
  /** A read is held at most this long. Readers rely on this maximum, so a setting can only be shorter. */
  readHoldMs: limits.readHoldMsMax,
  /** Names of tables, sources and fields that a warehouse keeps, together. */
  namesPerWorkgroup: 100_000,
  /** The number of tables among these names. Each table has its own files in the lake. */
  tablesPerWorkgroup: 500,
  /** The devices of a workgroup that are watched for silence. */
  watchedDevicesPerWorkgroup: 200_000,
} as const;
