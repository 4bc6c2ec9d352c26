/** What reports a metric. A process has the metrics of its roles. */
export type MetricPart = 'process' | 'http' | 'stream' | 'worker';

export interface MetricDefinition {
  part: MetricPart;
  type: 'gauge' | 'counter' | 'histogram';
  labels: readonly string[];
  /** One sentence, with the unit if the name has none. */
  help: string;
}

const workgroupLabels = ['workgroup'] as const;
const inputLabels = ['workgroup', 'input'] as const;

/**
 * All metrics. No label has the id of a device, because a plant can have thousands. Histograms have no label
 * `workgroup`, because each would add a dozen lines for every workgroup.
 */
export const metricTable = {
  wattline_build_info: {
    part: 'process',
    type: 'gauge',
    labels: ['version', 'roles'],
    help: 'Always 1. The version of Wattline and the roles of the process.',
  },
  wattline_stream_retention_seconds: {
    part: 'process',
    type: 'gauge',
    labels: [],
    help: 'Time that messages stay in the stream (stream.retention). A reader that is further behind loses data.',
  },
  wattline_disk_free_bytes: {
    part: 'process',
    type: 'gauge',
    labels: [],
    help: 'Free space of the file system of dataDir.',
  },
  wattline_disk_size_bytes: {
    part: 'process',
    type: 'gauge',
    labels: [],
    help: 'Size of the file system of dataDir.',
  },
  wattline_event_loop_busy_seconds_total: {
    part: 'process',
    type: 'counter',
    labels: [],
    help: 'Time in which the main thread was busy.',
  },
  process_cpu_seconds_total: {
    part: 'process',
    type: 'counter',
    labels: [],
    help: 'CPU time of all threads of the process.',
  },
  process_start_time_seconds: {
    part: 'process',
    type: 'gauge',
    labels: [],
    help: 'When the process started, as Unix time.',
  },
  process_resident_memory_bytes: {
    part: 'process',
    type: 'gauge',
    labels: [],
    help: 'Resident memory of the process.',
  },
  process_open_fds: {
    part: 'process',
    type: 'gauge',
    labels: [],
    help: 'Open files and connections of the process. Only on Linux.',
  },
  nodejs_heap_size_used_bytes: {
    part: 'process',
    type: 'gauge',
    labels: [],
    help: 'Used heap of the main thread.',
  },
  wattline_http_request_duration_seconds: {
    part: 'http',
    type: 'histogram',
    labels: ['method', 'route', 'status'],
    help: 'Duration of requests, with the time that a read of the stream waits for messages (20 s at most). Health checks and socket.io are left out.',
  },
  wattline_stream_messages_received_total: {
    part: 'stream',
    type: 'counter',
    labels: workgroupLabels,
    help: 'Messages that this process has stored in the stream, with entries of the audit log.',
  },
  wattline_stream_rejected_total: {
    part: 'stream',
    type: 'counter',
    labels: ['workgroup', 'reason'],
    help: 'Refused requests to send messages, by error code. None of their messages is stored. The label workgroup is empty for an unknown workgroup.',
  },
  wattline_stream_oldest_message_timestamp_seconds: {
    part: 'stream',
    type: 'gauge',
    labels: workgroupLabels,
    help: 'When the oldest message of the stream was stored, as Unix time. It follows within 15 s.',
  },
  wattline_stream_subscriptions: {
    part: 'stream',
    type: 'gauge',
    labels: ['workgroup', 'transport'],
    help: 'Readers of the stream: held reads (transport rest) and subscriptions (transport socket).',
  },
  wattline_input_up: {
    part: 'stream',
    type: 'gauge',
    labels: inputLabels,
    help: '1 if an input works: its broker is connected, and messages can be stored. Otherwise 0. The input "lines" is the line protocol.',
  },
  wattline_input_disconnects_total: {
    part: 'stream',
    type: 'counter',
    labels: inputLabels,
    help: 'Ends of the connection to a broker.',
  },
  wattline_input_messages_total: {
    part: 'stream',
    type: 'counter',
    labels: inputLabels,
    help: 'Messages or lines that an input has received.',
  },
  wattline_input_stored_total: {
    part: 'stream',
    type: 'counter',
    labels: inputLabels,
    help: 'Readings of an input that are stored in the stream.',
  },
  wattline_input_rejected_total: {
    part: 'stream',
    type: 'counter',
    labels: inputLabels,
    help: 'Bad payloads, which are in the quarantine, and bad lines, whose sender got an error.',
  },
  wattline_input_last_message_timestamp_seconds: {
    part: 'stream',
    type: 'gauge',
    labels: inputLabels,
    help: 'When an input last received a message or a line, as Unix time. Absent before the first.',
  },
  wattline_up_to_date: {
    part: 'worker',
    type: 'gauge',
    labels: workgroupLabels,
    help: '1 if the worker has read the whole stream, and no stage fails. Otherwise 0.',
  },
  wattline_config_problems: {
    part: 'worker',
    type: 'gauge',
    labels: workgroupLabels,
    help: 'Probable errors of the configuration, also those that only the data show. "wattline config check" lists them.',
  },
  wattline_troubles: {
    part: 'worker',
    type: 'gauge',
    labels: ['workgroup', 'stage'],
    help: 'Problems that have lasted for minutes. Absent without one. "wattline status" says what to do.',
  },
  wattline_poll_lag_messages: {
    part: 'worker',
    type: 'gauge',
    labels: workgroupLabels,
    help: 'Messages of the stream that the worker has not read. Absent if it is not known.',
  },
  wattline_poll_lag_seconds: {
    part: 'worker',
    type: 'gauge',
    labels: workgroupLabels,
    help: 'Age of the last read message while there are newer ones. 0 if everything is read. It grows while reading fails.',
  },
  wattline_landed_messages_total: {
    part: 'worker',
    type: 'counter',
    labels: workgroupLabels,
    help: 'Messages of the stream that the worker has stored in the warehouse.',
  },
  wattline_quarantine_entries_total: {
    part: 'worker',
    type: 'counter',
    labels: workgroupLabels,
    help: 'Messages and readings that the worker has received and could not use.',
  },
  wattline_event_delay_seconds: {
    part: 'worker',
    type: 'histogram',
    labels: [],
    help: 'Time from the event at the device until the stream had the message, of landed telemetry.',
  },
  wattline_stage_duration_seconds: {
    part: 'worker',
    type: 'histogram',
    labels: ['stage'],
    help: 'Duration of runs of the stages, also of failed ones.',
  },
  wattline_stage_failures_total: {
    part: 'worker',
    type: 'counter',
    labels: ['workgroup', 'stage'],
    help: 'Failed runs of a stage.',
  },
  wattline_stage_last_success_timestamp_seconds: {
    part: 'worker',
    type: 'gauge',
    labels: ['workgroup', 'stage'],
    help: 'When a stage last succeeded, as Unix time. Absent while the workgroup hibernates.',
  },
  wattline_newest_event_timestamp_seconds: {
    part: 'worker',
    type: 'gauge',
    labels: workgroupLabels,
    help: 'Time of the newest reading that is not in the future, as Unix time.',
  },
  wattline_generation: {
    part: 'worker',
    type: 'gauge',
    labels: workgroupLabels,
    help: 'Number of the newest published generation.',
  },
  wattline_generation_timestamp_seconds: {
    part: 'worker',
    type: 'gauge',
    labels: workgroupLabels,
    help: 'When the newest generation was published, as Unix time.',
  },
  wattline_gaps_open: {
    part: 'worker',
    type: 'gauge',
    labels: workgroupLabels,
    help: 'Ranges of the stream that could not be read and are not filled.',
  },
  wattline_gap_open_seconds: {
    part: 'worker',
    type: 'gauge',
    labels: workgroupLabels,
    help: 'Time of the stream that is missing in open gaps, as far as it is known.',
  },
  wattline_quarantined: {
    part: 'worker',
    type: 'gauge',
    labels: ['workgroup', 'reason'],
    help: 'Messages and readings in the quarantine, by reason.',
  },
  wattline_devices: {
    part: 'worker',
    type: 'gauge',
    labels: ['workgroup', 'state'],
    help: 'Devices by state: online, offline, asleep (as announced, for less than a day) or unknown.',
  },
  wattline_daily_energy_flagged: {
    part: 'worker',
    type: 'gauge',
    labels: ['workgroup', 'flag'],
    help: 'Days of devices and sources of the last 31 days, by quality flag.',
  },
  wattline_daily_energy_restated_total: {
    part: 'worker',
    type: 'counter',
    labels: workgroupLabels,
    help: 'Changes of days that were final. A day counts each time that it changes.',
  },
  wattline_warehouse_bytes: {
    part: 'worker',
    type: 'gauge',
    labels: workgroupLabels,
    help: 'Size of the warehouse file with its write-ahead log.',
  },
  wattline_lake_bytes: {
    part: 'worker',
    type: 'gauge',
    labels: workgroupLabels,
    help: 'Size of the files of the newest generation.',
  },
  wattline_alerts_sent_total: {
    part: 'worker',
    type: 'counter',
    labels: ['channel', 'outcome'],
    help: 'Attempts to send alerts, by outcome: told (the receiver has taken it), refused (not tried again) or failed (tried again).',
  },
  wattline_exports_pending: {
    part: 'worker',
    type: 'gauge',
    labels: ['workgroup', 'export'],
    help: 'Files that are due and not delivered. They are tried again.',
  },
  wattline_exports_failed: {
    part: 'worker',
    type: 'gauge',
    labels: ['workgroup', 'export'],
    help: 'Files that cannot be made or delivered, and are not tried again by themselves.',
  },
  wattline_exports_outdated: {
    part: 'worker',
    type: 'gauge',
    labels: ['workgroup', 'export'],
    help: 'Delivered files whose energy has changed since.',
  },
  wattline_export_last_success_timestamp_seconds: {
    part: 'worker',
    type: 'gauge',
    labels: ['workgroup', 'export'],
    help: 'When a file was last delivered, as Unix time.',
  },
} as const satisfies Record<string, MetricDefinition>;

export type MetricName = keyof typeof metricTable;
