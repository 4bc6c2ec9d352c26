/** How a server of this kind of stream may answer, in details that the public description leaves open. */
export interface Dialect {
  encoding: 'cbor' | 'cbor-sequence' | 'json' | 'json-lines';
  /** False: the wrong content type, so that only looking at the bytes helps. */
  saysContentType: boolean;
  /** Where the messages are; sequences and lines have them at their root. */
  list: 'root' | 'messages' | 'records' | 'data' | 'results' | 'rows' | 'items';
  /** How the next position is called; `header`, or `none` at all. A root list can only have these two. */
  cursor: 'nextOffset' | 'next_offset' | 'offset' | 'cursor' | 'header' | 'none';
  /**
   * inclusive: from the asked offset on, the cursor is one past the last. inclusive-last: likewise, but the
   * cursor is the last one, which comes again. exclusive: what is after the asked offset, the cursor is the
   * last one.
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
