/**
 * The answers of the reports, as plain types: a program that uses the client needs no types of the server. A
 * test compares each with the schema of its endpoint. Energy is in Wh. A day, device or meter without a value
 * has no energy that is known; that is never 0.
 */

type Energy = Record<string, Record<string, number>>;
type Method = 'total_energy' | 'daily_energy' | 'power_curve' | 'interval_energy';
export type DayStatus = 'provisional' | 'final' | 'restated';

/** Wh by day, month or year, and by device or `<deviceId>.<source>`. */
export type EnergyByDay = Energy;
/** Wh by day and code of the meter. */
export type MeterData = Energy;
/** Wh by day and code of the meter. */
export type BudgetData = Energy;

export interface DayDetail {
  energyWh: number | null;
  methods: Method[];
  flags: string[];
  /** Share of the day that measurements cover, 0 to 1. */
  coverage: number;
  status: DayStatus;
  version: number;
  computedAt: string;
}
export type DailyEnergyDetails = Record<string, Record<string, DayDetail>>;

export interface MeterDetail {
  energyWh: number | null;
  quality: 'measured' | 'estimated' | 'substituted' | 'fault' | null;
  flags: string[];
  coverage: number;
  revision: number;
  source: {
    kind: 'uploaded' | 'derived';
    device?: string | undefined;
    source?: string | null | undefined;
  };
}
export type MeterDetails = Record<string, Record<string, MeterDetail>>;

export interface BudgetDetail {
  energyWh: number;
  scenario: string;
  periodStart: string;
  /** Included. */
  periodEnd: string;
  periodWh: number;
  flags: string[];
  revision: number;
  uploadedAt: string;
}
export type BudgetDetails = Record<string, Record<string, BudgetDetail>>;

export interface QualityByDay {
  startDate: string;
  /** Included. */
  endDate: string;
  kinds: Array<{ coverage: number; status: DayStatus; methods: Method[]; flags: string[] }>;
  /** For each device, the index in `kinds` of each day of the range; null: nothing of this day. */
  devices: Record<string, Array<number | null>>;
}

export interface WorkgroupFacts {
  workgroup: string;
  /** IANA time zone of its days. */
  timezone: string;
  meters: Array<{ code: string; name?: string | undefined }>;
  sites: Array<{ name: string; meters: number; devices: number }>;
}

/** The state of each device, by id. */
export type StateByDevice = Record<
  string,
  {
    name?: string | undefined;
    state: 'online' | 'offline' | 'unknown';
    since: string | null;
    reason: string | null;
    lastSeen: string | null;
  }
>;

export interface GapList {
  gaps: Array<{
    id: number;
    reason: string;
    from: string | null;
    to: string | null;
    detectedAt: string;
    /** The part of it that the upstream still has. */
    available: 'all' | 'part' | 'nothing' | 'unknown';
    note: string | null;
  }>;
  /** All open gaps; the answer has the newest 200. */
  total: number;
}

interface StageState {
  lastSuccessAt: string | null;
  lastError: { at: string; message: string } | null;
  failingSince: string | null;
}

export interface ServiceStatus {
  workgroup: string;
  timezone: string;
  state: 'running' | 'hibernated' | 'stopped' | 'failing' | 'never run';
  health: 'good' | 'attention' | 'bad';
  /** The worst finding in words, or that all is well. */
  reason: string;
  findings: Array<{
    severity: 'bad' | 'attention' | 'note';
    about:
      | 'worker'
      | 'stage'
      | 'lag'
      | 'gap'
      | 'quarantine'
      | 'problem'
      | 'import'
      | 'export'
      | 'device'
      | 'input';
    message: string;
    since: string | null;
    path: string | null;
  }>;
  updatedAt: string | null;
  stages: {
    poll: StageState & {
      nextOffset: string | null;
      transport: 'rest' | 'socket' | null;
      upToDate: boolean | null;
      lagMessages: number | null;
      lagSeconds: number | null;
    };
    rollup: StageState & { batchId: string | null };
    publish: StageState & { generation: number | null };
    maintain: StageState;
  };
  lagSeconds: number | null;
  lastHour: { messages: number; quarantined: number } | null;
  newestReadingAt: string | null;
  gaps: number;
  quarantined: number;
  storedMessages: number;
  devices: { online: number; offline: number; asleep: number; unknown: number } | null;
  troubles: Array<{ stage: string; state: string; since: string; message: string }>;
  problems: Array<{ path: string; message: string }>;
}

/**
 * The part of an explanation that says in words how the energy of a day was computed. The answer has more
 * members.
 */
export interface Explanation {
  workgroup: string;
  timezone: string;
  device: string;
  day: string;
  text: string;
  sources: Array<{
    source: string;
    /** Null: the day has no energy. */
    result: {
      energyWh: number;
      method: Method;
      table: string;
      field: string;
      status: DayStatus;
      coverage: number;
      flags: string[];
    } | null;
    sum: { text: string };
    coverage: { text: string };
    flags: Array<{ flag: string; meaning: string; reason: string }>;
    events: Array<{ text: string }>;
    corrections: Array<{ text: string }>;
    versions: Array<{ text: string }>;
  }>;
}

/** One row of a report. Its columns are on the page exports.md. A cell without a value is null. */
export type AnsweredRow = Record<string, string | number | boolean | null>;
