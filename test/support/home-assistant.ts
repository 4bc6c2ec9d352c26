import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { z } from 'zod';

/** Hours of a statistic, from a full hour on: its sum at the end of each hour, or its mean. Null: no row. */
export interface StoredStatistic {
  unit: string;
  kind: 'sum' | 'mean';
  name: string | null;
  startMs: number;
  values: Array<number | null>;
}

export interface HomeAssistantServer {
  url: string;
  token: string;
  /** True if the token belongs to an administrator. */
  isAdministrator: boolean;
  statistics: Map<string, StoredStatistic>;
  /** The imported rows: for each statistic the rows by their start. */
  imported: Map<string, { metadata: Metadata; rows: Map<string, { state?: number; sum?: number }> }>;
  /** The received commands, in order. */
  commands: Array<{ type: string } & Record<string, unknown>>;
  /** A command that this version does not know. */
  unknown?: string;
  /** The answer in place of the rows of statistics. */
  rows?: unknown;
  /** The answer in place of the list of statistics. */
  listed?: unknown;
  /** Called before a command is answered. It can end the connection. */
  onCommand?: (command: { type: string }, socket: WebSocket) => void;
}

const HOUR_MS = 3_600_000;
/** The most bytes that the server of Home Assistant accepts in one message. */
const MESSAGE_BYTES_MAX = 4 * 1024 ** 2;

const instant = z.iso.datetime({ offset: true });
const metadataSchema = z.strictObject({
  has_mean: z.boolean().optional(),
  mean_type: z.literal([0, 1, 2]),
  has_sum: z.boolean(),
  name: z.string().nullable(),
  source: z.string(),
  statistic_id: z.string(),
  unit_class: z.string().nullable(),
  unit_of_measurement: z.string().nullable(),
});
export type Metadata = z.output<typeof metadataSchema>;
const number = z.number();
const commands = {
  'auth/current_user': z.strictObject({}),
  'recorder/list_statistic_ids': z.strictObject({ statistic_type: z.enum(['sum', 'mean']).optional() }),
  'recorder/statistics_during_period': z.strictObject({
    start_time: z.string(),
    end_time: z.string().optional(),
    statistic_ids: z.array(z.string()).min(1),
    period: z.enum(['5minute', 'hour', 'day', 'week', 'month']),
    units: z
      .strictObject({ energy: z.enum(['Wh', 'kWh', 'MWh']), power: z.enum(['W', 'kW', 'MW']) })
      .partial()
      .optional(),
    types: z.array(z.enum(['change', 'last_reset', 'max', 'mean', 'min', 'state', 'sum'])).optional(),
  }),
  'recorder/import_statistics': z.strictObject({
    metadata: metadataSchema,
    stats: z.array(
      z.strictObject({
        start: instant,
        mean: number.optional(),
        min: number.optional(),
        max: number.optional(),
        last_reset: instant.nullable().optional(),
        state: number.optional(),
        sum: number.optional(),
      }),
    ),
  }),
} as const;

/**
 * A server with the documented messages of Home Assistant's WebSocket API. It refuses what Home Assistant
 * refuses.
 */
export async function startHomeAssistant(): Promise<HomeAssistantServer> {
  const server = new WebSocketServer({
    host: '127.0.0.1',
    port: 0,
    path: '/api/websocket',
    maxPayload: MESSAGE_BYTES_MAX,
  });
  await new Promise<void>((resolve) => server.once('listening', resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        for (const client of server.clients) client.terminate();
        server.close(() => resolve());
      }),
  );
  const at: HomeAssistantServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: 'a-long-lived-access-token',
    isAdministrator: true,
    statistics: new Map(),
    imported: new Map(),
    commands: [],
  };
  server.on('connection', (socket) => {
    const send = (message: unknown) => socket.send(JSON.stringify(message));
    let isAuthenticated = false;
    let lastId = 0;
    send({ type: 'auth_required', ha_version: '2026.11.1' });
    // A message that is too large ends the connection.
    socket.on('error', () => {});
    socket.on('message', (bytes) => {
      const { id, type, ...fields } = JSON.parse(bytes.toString()) as { id?: number; type: string };
      if (!isAuthenticated) {
        isAuthenticated = type === 'auth' && (fields as { access_token?: string }).access_token === at.token;
        if (isAuthenticated) return send({ type: 'auth_ok', ha_version: '2026.11.1' });
        send({ type: 'auth_invalid', message: 'Invalid access token or password' });
        return socket.close();
      }
      const refuse = (code: string, message: string) =>
        send({ id: id ?? null, type: 'result', success: false, error: { code, message } });
      if (!Number.isInteger(id)) return refuse('invalid_format', 'Message incorrectly formatted.');
      if (id! <= lastId) return refuse('id_reuse', 'Identifier values have to increase.');
      lastId = id!;
      at.commands.push({ type, ...fields });
      at.onCommand?.({ type }, socket);
      if (!Object.hasOwn(commands, type) || type === at.unknown)
        return refuse('unknown_command', 'Unknown command.');
      const parsed = commands[type as keyof typeof commands].safeParse(fields);
      if (!parsed.success) return refuse('invalid_format', z.prettifyError(parsed.error));
      const answer = answerTo(at, type as keyof typeof commands, parsed.data);
      if ('refusal' in answer) return refuse('home_assistant_error', answer.refusal);
      send({ id, type: 'result', success: true, result: answer.result });
    });
  });
  return at;
}

type Asked<Type extends keyof typeof commands> = z.output<(typeof commands)[Type]>;

function answerTo(
  at: HomeAssistantServer,
  type: keyof typeof commands,
  asked: unknown,
): { result: unknown } | { refusal: string } {
  switch (type) {
    case 'auth/current_user':
      return { result: { id: 'a1b2', name: 'Ada', is_owner: false, is_admin: at.isAdministrator } };
    case 'recorder/list_statistic_ids':
      return {
        result:
          at.listed ??
          [...at.statistics].map(([statistic_id, { unit, kind, name }]) => ({
            statistic_id,
            display_unit_of_measurement: unit,
            has_mean: kind === 'mean',
            mean_type: kind === 'mean' ? 1 : 0,
            has_sum: kind === 'sum',
            name,
            source: statistic_id.includes(':') ? statistic_id.split(':')[0] : 'recorder',
            statistics_unit_of_measurement: unit,
            unit_class: unit.endsWith('h') ? 'energy' : unit.endsWith('W') ? 'power' : null,
          })),
      };
    case 'recorder/statistics_during_period':
      return { result: at.rows ?? rowsOf(at, asked as Asked<typeof type>) };
    case 'recorder/import_statistics':
      return importInto(at, asked as Asked<typeof type>);
    default:
      return type satisfies never;
  }
}

const factors: Readonly<Record<string, number>> = { Wh: 1, kWh: 1e3, MWh: 1e6, W: 1, kW: 1e3, MW: 1e6 };

/** A month has one row, with the last sum or the mean, which begins with the month in UTC. */
function rowsOf(at: HomeAssistantServer, asked: Asked<'recorder/statistics_during_period'>) {
  const fromMs = Date.parse(asked.start_time);
  const untilMs = asked.end_time === undefined ? Number.POSITIVE_INFINITY : Date.parse(asked.end_time);
  const found: Record<string, unknown[]> = {};
  for (const id of asked.statistic_ids) {
    const rowsOfImport = [...(at.imported.get(id)?.rows ?? [])].map(([start, row]) => ({
      ...{ start: Date.parse(start), end: Date.parse(start) + HOUR_MS },
      ...row,
    }));
    if (rowsOfImport.length > 0) found[id] = rowsOfImport.toSorted((a, b) => a.start - b.start);
    const statistic = at.statistics.get(id);
    if (!statistic) continue;
    const { unit, kind, startMs, values } = statistic;
    const targetUnit = kind === 'sum' ? asked.units?.energy : asked.units?.power;
    const factor = targetUnit === undefined ? 1 : factors[unit]! / factors[targetUnit]!;
    const hours = values.flatMap((value, index) => {
      const start = startMs + index * HOUR_MS;
      if (value === null || start < fromMs || start >= untilMs) return [];
      return [{ start, end: start + HOUR_MS, [kind]: value * factor }];
    });
    const rows =
      asked.period === 'hour'
        ? hours
        : [...Map.groupBy(hours, ({ start }) => new Date(start as number).toISOString().slice(0, 7))].map(
            ([month, list]) => ({ ...list.at(-1)!, start: Date.parse(`${month}-01T00:00:00Z`) }),
          );
    if (rows.length > 0) found[id] = rows;
  }
  return found;
}

const EXTERNAL_ID = /^(?!.+__)(?!_)[\da-z_]+(?<!_):(?!_)[\da-z_]+(?<!_)$/;

function importInto(at: HomeAssistantServer, { metadata, stats }: Asked<'recorder/import_statistics'>) {
  const { statistic_id, source } = metadata;
  if (!EXTERNAL_ID.test(statistic_id)) return { refusal: 'Invalid statistic_id' };
  if (source !== statistic_id.split(':')[0]) return { refusal: 'Invalid source' };
  if (stats.some(({ start }) => !/T\d\d:00:00(\.0+)?(Z|[+-])/.test(start)))
    return {
      refusal: 'Invalid timestamp: timestamps must be from the top of the hour (minutes and seconds = 0)',
    };
  const known = at.imported.get(statistic_id) ?? { metadata, rows: new Map() };
  for (const { start, state, sum } of stats) known.rows.set(new Date(start).toISOString(), { state, sum });
  at.imported.set(statistic_id, { ...known, metadata });
  return { result: null };
}
