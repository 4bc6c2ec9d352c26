import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

/** A PostgreSQL server of its own, reached over a socket in its folder. */
export interface Postgres {
  /** Runs statements. Returns what they print, without headings. */
  run(sql: string): string;
  end(): void;
}

const INSTALLED = '/usr/lib/postgresql';
/** Settings of a person who gives PostgreSQL more memory than the warehouse has. */
export const ROOMY = [
  'shared_buffers=2GB',
  'work_mem=512MB',
  'maintenance_work_mem=1GB',
  'max_wal_size=8GB',
  'max_parallel_workers_per_gather=2',
];

/**
 * @param settings in addition to the settings of Debian's package
 * @returns undefined if Debian's package `postgresql` is not installed
 */
export function startPostgres(settings: readonly string[]): Postgres | undefined {
  const version = existsSync(INSTALLED) ? readdirSync(INSTALLED).sort().at(-1) : undefined;
  if (version === undefined || !existsSync(join(INSTALLED, version, 'bin', 'initdb'))) return undefined;
  const bin = join(INSTALLED, version, 'bin');
  const folder = mkdtempSync(join(tmpdir(), 'wattline-postgres-'));
  // PostgreSQL refuses to run as root; its package brings a user.
  const isRoot = userInfo().uid === 0;
  const as = (program: string, ...args: string[]) =>
    isRoot
      ? execFileSync('runuser', ['-u', 'postgres', '--', join(bin, program), ...args], {
          stdio: ['ignore', 'ignore', 'inherit'],
        })
      : execFileSync(join(bin, program), args, { stdio: ['ignore', 'ignore', 'inherit'] });
  if (isRoot) execFileSync('chown', ['postgres', folder]);
  chmodSync(folder, 0o711);
  const data = join(folder, 'data');
  as('initdb', '-D', data, '-A', 'trust', '-U', 'postgres');
  as(
    'pg_ctl',
    '-D',
    data,
    '-w',
    '-l',
    join(folder, 'log'),
    '-o',
    [`-k ${folder}`, ...['listen_addresses=', ...settings].map((one) => `-c ${one}`)].join(' '),
    'start',
  );
  return {
    run(sql) {
      const done = spawnSync(
        'psql',
        [
          '-h',
          folder,
          '-U',
          'postgres',
          '-X',
          '-q',
          '-A',
          '-t',
          '-v',
          'ON_ERROR_STOP=1',
          '-f',
          '-',
          'postgres',
        ],
        {
          input: sql,
          encoding: 'utf8',
          maxBuffer: 1 << 24,
        },
      );
      if (done.status !== 0) throw new Error(`psql: ${done.stderr}`);
      return done.stdout.trim();
    },
    end() {
      as('pg_ctl', '-D', data, '-m', 'immediate', 'stop');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
