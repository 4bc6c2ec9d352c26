import { onTestFinished } from 'vitest';
import { systemWaiting, type Waiting } from '../../src/client/backoff.ts';
import { columnsToMessages } from '../../src/client/columns-to-messages.ts';
import { type Ask, type Position, startPosition } from '../../src/client/position.ts';
import { readStream, type StreamBatch } from '../../src/client/read-stream.ts';
import {
  createSocketSource,
  type SocketSource,
  type SocketSourceOptions,
} from '../../src/client/socket-source.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import type { Dialect } from '../support/vendor-dialect.ts';
import { startVendor, type VendorServer } from '../support/vendor-server.ts';
import { addVendorSocket, type SocketDialect, type VendorSocket } from '../support/vendor-socket.ts';

interface Started {
  vendor: VendorServer;
  socket: VendorSocket;
  source: SocketSource;
  close(): Promise<void>;
}

/** A lost socket is opened again at the next read. */
export const hasty: Waiting = { ...systemWaiting, random: () => 0, sleep: async () => {} };

export async function start(
  options: {
    dialect?: Partial<Dialect>;
    socket?: Partial<SocketDialect>;
  } & Partial<SocketSourceOptions> = {},
): Promise<Started> {
  const { dialect, socket: socketDialect, bounds, ...rest } = options;
  const vendor = await startVendor(dialect);
  const socket = addVendorSocket(vendor, socketDialect);
  const source = createSocketSource({
    url: vendor.url,
    workgroup: 'acme',
    token: 'secret',
    logger: silentLogger,
    random: hasty.random,
    // Long enough for a busy machine.
    bounds: { graceMs: 10_000, ...bounds },
    ...rest,
  });
  const close = async () => {
    await source.close();
    await vendor.close();
  };
  return { vendor, socket, source, close };
}

export async function startForTest(options: Parameters<typeof start>[0] = {}): Promise<Started> {
  const started = await start(options);
  onTestFinished(started.close);
  return started;
}

interface Delivered {
  values: unknown[];
  gaps: string[];
  position: Position;
  transports: Set<string>;
}

/** Reads until at least `count` messages have arrived. */
export async function read(source: SocketSource, from: Position | Ask, count: number): Promise<Delivered> {
  const delivered: Delivered = {
    values: [],
    gaps: [],
    position: 'ask' in from ? from : startPosition(from),
    transports: new Set(),
  };
  if (count === 0) return delivered;
  for await (const batch of readStream(source, {
    from: delivered.position,
    waitSeconds: 0.1,
    pollEveryMs: 0,
    waiting: hasty,
  })) {
    note(delivered, batch, source);
    if (delivered.values.length >= count) break;
  }
  source.noteLanded(delivered.position.ask);
  return delivered;
}

function note(delivered: Delivered, batch: StreamBatch, source: SocketSource): void {
  for (const message of columnsToMessages(batch.columns, batch.names))
    delivered.values.push(message.kind === 'telemetry' ? message.data.value : message.kind);
  if (batch.gap) delivered.gaps.push(batch.gap.reason);
  delivered.position = batch.position;
  delivered.transports.add(source.transport);
}

/** Stores and loads a position as a consumer does: with the columns of its checkpoint only. */
export function throughCheckpoint(position: Position): Position {
  return startPosition(position.ask, {
    ...(position.epoch !== undefined && { epoch: position.epoch }),
    ...(position.lastOffset !== undefined && { lastOffset: position.lastOffset }),
    ...(position.lastStoreTimeMs !== undefined && { lastStoreTimeMs: position.lastStoreTimeMs }),
  });
}

export const valuesOf = (messages: Array<{ value: number }>) => messages.map(({ value }) => value);
export const oldest: Ask = { kind: 'oldest' };
