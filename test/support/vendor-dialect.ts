/** Details of the answers of a server that the public description of the stream does not fix. */
export interface Dialect {
  encoding: 'cbor' | 'cbor-sequence' | 'json' | 'json-lines';
  /** False: the content type is wrong, so only the bytes show the encoding. */
  saysContentType: boolean;
  /** The member that has the messages. Sequences and lines have them at their root. */
  list: 'root' | 'messages' | 'records' | 'data' | 'results' | 'rows' | 'items';
  /**
   * The member that has the next position. `header`: a header has it. `none`: the answer does not have it. A
   * root list can only have these two.
   */
  cursor: 'nextOffset' | 'next_offset' | 'offset' | 'cursor' | 'header' | 'none';
  /**
   * inclusive: the messages from the requested offset on; the cursor is one past the last message.
   * inclusive-last: the same messages; the cursor is the last message, which comes again. exclusive: the
   * messages after the requested offset; the cursor is the last message.
   */
  bounds: 'inclusive' | 'inclusive-last' | 'exclusive';
  offsetsAs: 'text' | 'integer';
  timesAs: 'text' | 'integer';
  deviceAs: 'device' | 'device_id' | 'deviceId';
  eventTimeAs: 'event_time' | 'eventTime' | 'timestamp';
  saysUpToDate: boolean;
  saysEpoch: boolean;
  compression: 'none' | 'gzip' | 'br' | 'zstd';
}

export const plainDialect: Dialect = {
  encoding: 'cbor',
  saysContentType: true,
  list: 'messages',
  cursor: 'nextOffset',
  bounds: 'inclusive',
  offsetsAs: 'integer',
  timesAs: 'integer',
  deviceAs: 'device',
  eventTimeAs: 'event_time',
  saysUpToDate: true,
  saysEpoch: true,
  compression: 'none',
};
