import type { View } from './lake-view.ts';
import { batchId, device, eventTime, field, source, storeTime, streamOffset, table } from './view-columns.ts';

/** Views of received data: messages, device states, and messages that could not be read. */
export const messageViews: readonly View[] = [
  {
    name: 'messages',
    dataset: 'messages',
    comment: 'All received messages, each once',
    columns: [
      table,
      { name: 'kind', type: 'VARCHAR', comment: 'telemetry, device_status or audit' },
      { ...device, comment: 'Device; null for audit messages' },
      { ...source, comment: 'Source of the device; null if the message has none' },
      eventTime,
      storeTime,
      {
        name: 'data',
        type: 'MAP(VARCHAR, DOUBLE)',
        comment: "Numeric fields as sent, in the device's own units: data['power']",
      },
      {
        name: 'other',
        type: 'JSON',
        select: 'try_cast(other AS JSON)',
        comment: 'Fields that are not plain numbers, as a JSON object; null if there are none',
      },
      { name: 'message_id', type: 'BIGINT', comment: 'Counter of the device, if it sends one' },
      streamOffset,
      batchId,
    ],
  },
  {
    name: 'audit_log',
    dataset: 'messages',
    comment:
      'Audit log of the workgroup: tokens, configuration, imports. All readers of these files can read it. Over HTTP a token needs org:audit',
    where: "\"table\" = 'audit_logs' AND kind = 'audit'",
    columns: [
      { ...eventTime, comment: 'When it happened' },
      { name: 'actor', type: 'VARCHAR', select: "try(other->>'actor')", comment: 'Person or token' },
      {
        name: 'action',
        type: 'VARCHAR',
        select: "try(other->>'action')",
        comment: 'Action, such as token.created',
      },
      {
        name: 'target',
        type: 'VARCHAR',
        select: "try(other->>'target')",
        comment: 'Object of the action, such as the id of a token',
      },
      {
        name: 'data',
        type: 'JSON',
        select: "try(other->'data')",
        comment: 'Details, as a JSON object',
      },
      storeTime,
      streamOffset,
    ],
  },
  {
    name: 'device_status',
    dataset: 'device_status',
    comment:
      'Times at which devices went online and offline, as reported or by their silence. A repeated state is not a transition',
    columns: [
      device,
      { name: 'state', type: 'VARCHAR', comment: 'online or offline' },
      {
        name: 'reason',
        type: 'VARCHAR',
        comment: 'Reason, if reported; the stream service writes timeout and data received',
      },
      { ...eventTime, comment: 'Time of the event, by the clock of its reporter' },
      storeTime,
      streamOffset,
    ],
  },
  {
    name: 'device_state',
    dataset: 'device_state',
    comment: 'Current state of each device: its last transition, and its last message',
    columns: [
      device,
      {
        name: 'state',
        type: 'VARCHAR',
        comment: 'online, offline, or unknown if never reported',
      },
      { name: 'since', type: 'TIMESTAMPTZ', comment: 'Event time of the last transition' },
      { name: 'reason', type: 'VARCHAR', comment: 'Reason of the last transition, if reported' },
      {
        name: 'last_seen',
        type: 'TIMESTAMPTZ',
        comment: 'Minute in which its newest telemetry was stored; null if there is none',
      },
    ],
  },
  {
    name: 'quarantine',
    dataset: 'quarantine',
    comment: 'Messages that could not be decoded or landed; single readings are in rejected_reading',
    columns: [
      { name: 'quarantined_at', type: 'TIMESTAMPTZ', comment: 'Time of the quarantine' },
      { name: 'stage', type: 'VARCHAR', comment: 'Stage that quarantined it' },
      { name: 'reason', type: 'VARCHAR', comment: 'Why' },
      { name: 'detail', type: 'VARCHAR', comment: 'Problem of the message' },
      device,
      { ...source, comment: 'Source of the device, if known' },
      { ...field, comment: 'Field of a single reading' },
      eventTime,
      streamOffset,
      { name: 'bytes', type: 'BLOB', comment: 'The original message, if it could not be decoded' },
      batchId,
    ],
  },
  {
    name: 'rejected_reading',
    dataset: 'rejected_reading',
    comment:
      'Rejected readings: one row for each UTC day of the rejection, device, source, field and reason. Kept for 90 days',
    columns: [
      { name: 'day', type: 'DATE', comment: 'UTC day on which they were rejected' },
      device,
      source,
      field,
      { name: 'reason', type: 'VARCHAR', comment: 'Why' },
      { name: 'readings', type: 'BIGINT', comment: 'How many' },
      { name: 'first_event_time', type: 'TIMESTAMPTZ', comment: 'The first of their event times' },
      { name: 'last_event_time', type: 'TIMESTAMPTZ', comment: 'The last of their event times' },
      {
        name: 'samples',
        type: 'STRUCT(event_time TIMESTAMPTZ, stream_offset UBIGINT, "value" VARCHAR, batch_id BIGINT)[]',
        comment: 'The first 20 of them with their original values, without nulls',
      },
      { name: 'import_id', type: 'BIGINT', comment: 'Import of the readings; null for other readings' },
    ],
  },
  {
    name: 'gap',
    dataset: 'gap',
    comment: 'Ranges of the stream that could not be read',
    columns: [
      { name: 'gap_id', type: 'BIGINT', comment: 'Number of the gap' },
      { name: 'origin', type: 'VARCHAR', comment: 'Stream that was read' },
      { name: 'reason', type: 'VARCHAR', comment: 'expired, recreated, lost_tail or rejected' },
      { name: 'from_offset', type: 'UBIGINT', comment: 'First position that is missing' },
      { name: 'to_offset', type: 'UBIGINT', comment: 'Position at which reading continued' },
      { name: 'from_time', type: 'TIMESTAMPTZ', comment: 'Store time of the last message before it' },
      { name: 'to_time', type: 'TIMESTAMPTZ', comment: 'Store time at which reading continued' },
      { name: 'detected_at', type: 'TIMESTAMPTZ', comment: 'When it was noticed' },
      {
        name: 'closed_at',
        type: 'TIMESTAMPTZ',
        comment: 'Time at which it was filled; null while it is open',
      },
      {
        name: 'note',
        type: 'VARCHAR',
        comment: 'Why the last backfill could not fill it; null if none has tried',
      },
    ],
  },
];
