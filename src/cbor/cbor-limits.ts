/** What a decoder of CBOR follows before it calls the bytes malformed. */
export const cborLimits = {
  /** Levels of nesting. */
  depthMax: 16,
  /** Members of one map: ten times the fields of a message. Building a larger one takes seconds. */
  mapMembersMax: 10_000,
  /** Arrays, maps and byte strings in all: twenty for each message of the largest request. */
  decodedContainersMax: 200_000,
} as const;
