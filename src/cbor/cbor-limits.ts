/** Limits of the decoder. Bytes that exceed one are malformed. */
export const cborLimits = {
  /** Levels of nesting. */
  depthMax: 16,
  /**
   * Members of one map: ten times the fields of a message, because building a much larger object takes
   * seconds.
   */
  mapMembersMax: 10_000,
  /** Arrays, maps and byte strings in total: twenty for each message of the largest request. */
  decodedContainersMax: 200_000,
} as const;
