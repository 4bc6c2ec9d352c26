/** The content types of messages from devices. */
export const ingestTypes = ['application/cbor', 'application/json', 'application/x-ndjson'] as const;

export type IngestType = (typeof ingestTypes)[number];

/** What to do about a body of another content type. */
export const INGEST_TYPE_ADVICE = `messages are sent as ${ingestTypes.join(', ')}`;
