/**
 * A process that opens logs below a folder until it has no file descriptors left. It prints what happens, one
 * line each.
 */
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../../../src/lib/errors.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { systemClock } from '../../../src/lib/time.ts';
import { openLmdbLog, readLmdbHead } from '../../../src/stream/log/lmdb-log.ts';
import type { StreamLog } from '../../../src/stream/log/stream-log.ts';
import { telemetryBatch } from '../../support/messages.ts';

const folder = process.argv[2]!;
const settings = { clock: systemClock, retentionMs: 3_600_000, cacheBytesMax: 1e6, logger: silentLogger };
const open = (index: number) => openLmdbLog({ ...settings, path: join(folder, String(index)) });
const print = (line: string) => writeSync(1, `${line}\n`);

const logs: StreamLog[] = [];
try {
  for (;;) logs.push(open(logs.length));
} catch (error) {
  print(`open ${errorCode(error)}`);
}
await readLmdbHead(join(folder, '0')).catch((error: unknown) => print(`read ${errorCode(error)}`));
await logs[0]!.append(telemetryBatch(1));
await Promise.all(logs.splice(0, 10).map((log) => log.close()));
const again = open(logs.length + 10);
await again.append(telemetryBatch(1));
print('opened again');
await Promise.all([...logs, again].map((log) => log.close()));
