/** The members of a telemetry message, as bits. */
export const member = {
  offset: 1,
  table: 2,
  kind: 4,
  device: 8,
  source: 16,
  eventTime: 32,
  storeTime: 64,
  messageId: 128,
  data: 256,
} as const;

/** The result of a scan that did not find what it looks for. */
export const NONE = -1;
/** Bytes of the longest key with its head. */
export const KEY_BYTES_MAX = 11;

/**
 * The member with its key at `at`, or `NONE`. It compares the first four characters and then the rest. At
 * least `KEY_BYTES_MAX` bytes must follow.
 */
export function memberKeyAt(view: DataView, at: number): number {
  const head = view.getUint8(at);
  switch (view.getUint32(at + 1)) {
    case 0x6f666673: // offs|et
      return head === 0x66 && view.getUint16(at + 5) === 0x6574 ? member.offset : NONE;
    case 0x7461626c: // tabl|e
      return head === 0x65 && view.getUint8(at + 5) === 0x65 ? member.table : NONE;
    case 0x6b696e64: // kind
      return head === 0x64 ? member.kind : NONE;
    case 0x64657669: // devi|ce
      return head === 0x66 && view.getUint16(at + 5) === 0x6365 ? member.device : NONE;
    case 0x736f7572: // sour|ce
      return head === 0x66 && view.getUint16(at + 5) === 0x6365 ? member.source : NONE;
    case 0x6576656e: // even|t_ti|me
      return head === 0x6a && view.getUint32(at + 5) === 0x745f7469 && view.getUint16(at + 9) === 0x6d65
        ? member.eventTime
        : NONE;
    case 0x73746f72: // stor|e_ti|me
      return head === 0x6a && view.getUint32(at + 5) === 0x655f7469 && view.getUint16(at + 9) === 0x6d65
        ? member.storeTime
        : NONE;
    case 0x6d73675f: // msg_|id
      return head === 0x66 && view.getUint16(at + 5) === 0x6964 ? member.messageId : NONE;
    case 0x64617461: // data
      return head === 0x64 ? member.data : NONE;
    default:
      return NONE;
  }
}
