import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, machine } from 'node:os';
import { basename, delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

/*
 * radosgw, the S3 server of Ceph, with a monitor and an object store in memory. `npm test` unpacks its
 * packages into a cache folder (.ci/prepare.mjs). The server needs no root and starts in a few seconds.
 */

export interface RadosgwAccess {
  endpoint: string;
  accessKeyId: string;
  secretAccessKey: string;
}

const run = promisify(execFile);
/** Keys of a server that listens on this machine only and keeps nothing. */
const ACCESS_KEY_ID = 'WATTLINETESTS';
const SECRET_ACCESS_KEY = 'only-for-tests-only-for-tests';

/** The folder of the unpacked packages. Undefined if they could not be fetched. */
export function radosgwPackages(): string | undefined {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const folder = process.env.WATTLINE_TEST_RADOSGW ?? join(cache, 'wattline', 'radosgw');
  return existsSync(join(folder, 'complete')) ? folder : undefined;
}

/**
 * Starts the server with its data in `folder`.
 * @throws Error if one of its programs fails
 */
export async function startRadosgw(packages: string, folder: string): Promise<RadosgwAccess> {
  try {
    return await start(packages, folder);
  } catch (error) {
    await stopRadosgw(folder);
    throw error;
  }
}

async function start(packages: string, folder: string): Promise<RadosgwAccess> {
  const libraries = join(packages, 'usr/lib', `${machine()}-linux-gnu`);
  for (const name of ['mon', 'osd', 'gateway', 'run']) mkdirSync(join(folder, name), { recursive: true });
  const [monitorPort, port] = await Promise.all([freePort(), freePort()]);
  const settings = join(folder, 'ceph.conf');
  const cluster = randomUUID();
  writeFileSync(settings, settingsText({ folder, libraries, cluster, monitorPort, port }));
  const environment = {
    ...process.env,
    CEPH_CONF: settings,
    LD_LIBRARY_PATH: [libraries, join(libraries, 'ceph'), join(packages, 'lib', basename(libraries))].join(
      delimiter,
    ),
    PYTHONPATH: join(packages, 'usr/lib/python3/dist-packages'),
    PATH: ['usr/bin', 'usr/sbin', 'sbin']
      .map((name) => join(packages, name))
      .concat(process.env.PATH ?? '')
      .join(delimiter),
  };
  const call = (program: string, ...args: string[]) =>
    run(program, args, { env: environment, cwd: folder, timeout: 60_000 });
  /** The program stays in the foreground, so that the noted process id is its id. */
  const serve = (program: string, ...args: string[]) => {
    const server = spawn(program, ['-f', ...args], {
      env: environment,
      cwd: folder,
      stdio: 'ignore',
      detached: true,
    });
    server.unref();
    writeFileSync(join(folder, 'run', `${server.pid}.process`), '');
  };
  const map = join(folder, 'monmap');
  await call(
    'monmaptool',
    '--create',
    '--fsid',
    cluster,
    '--addv',
    'a',
    `[v1:127.0.0.1:${monitorPort}]`,
    map,
  );
  await call('ceph-mon', '--mkfs', '-i', 'a', '--monmap', map);
  serve('ceph-mon', '-i', 'a');
  const disk = randomUUID();
  /**
   * The monitor refuses a command that comes before the client knows the id of the cluster, so it is sent
   * again.
   */
  const ceph = async (...args: string[]) => {
    let output = '';
    const hasAnswered = async () => {
      try {
        output = (await call('/usr/bin/python3', join(packages, 'usr/bin/ceph'), ...args)).stdout;
        return true;
      } catch (error) {
        if (String(error).includes('EPERM')) return false;
        throw error;
      }
    };
    await until(`ceph has done ${args.join(' ')}`, hasAnswered);
    return output;
  };
  await ceph('osd', 'new', disk);
  await ceph('osd', 'crush', 'add', 'osd.0', '1', 'root=default');
  await call('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', disk);
  serve('ceph-osd', '-i', '0');
  await until('the store of radosgw is up', async () => (await ceph('osd', 'stat')).includes('1 up'));
  serve('radosgw', '-n', 'client.rgw.a');
  const endpoint = `http://127.0.0.1:${port}`;
  await until('radosgw answers', () =>
    fetch(endpoint).then(
      () => true,
      () => false,
    ),
  );
  const keys = [`--access-key=${ACCESS_KEY_ID}`, `--secret-key=${SECRET_ACCESS_KEY}`];
  await call('radosgw-admin', 'user', 'create', '--uid=tests', '--display-name=tests', ...keys);
  return { endpoint, accessKeyId: ACCESS_KEY_ID, secretAccessKey: SECRET_ACCESS_KEY };
}

/** Ends the programs of a server and deletes its data. */
export async function stopRadosgw(folder: string): Promise<void> {
  const notes = existsSync(join(folder, 'run')) ? readdirSync(join(folder, 'run')) : [];
  const ids = notes.flatMap((name) => (name.endsWith('.process') ? Number.parseInt(name, 10) : []));
  for (const id of ids) {
    if (isOurs(id, folder)) process.kill(id, 'SIGKILL');
  }
  await until('radosgw has ended', () => ids.every((id) => !isOurs(id, folder)));
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** The process id can belong to another program now. */
function isOurs(id: number, folder: string): boolean {
  try {
    return readFileSync(`/proc/${id}/environ`, 'latin1').includes(`CEPH_CONF=${folder}`);
  } catch {
    return false;
  }
}

interface Settings {
  folder: string;
  libraries: string;
  cluster: string;
  monitorPort: number;
  port: number;
}

function settingsText({ folder, libraries, cluster, monitorPort, port }: Settings): string {
  const global = {
    fsid: cluster,
    'mon host': `v1:127.0.0.1:${monitorPort}`,
    'mon initial members': 'a',
    'public addr': '127.0.0.1',
    'auth cluster required': 'none',
    'auth service required': 'none',
    'auth client required': 'none',
    // One copy of everything, on one disk, in memory.
    'osd pool default size': 1,
    'osd pool default min size': 1,
    'mon allow pool size one': true,
    'osd pool default pg num': 1,
    'osd pool default pgp num': 1,
    'osd crush chooseleaf type': 0,
    'osd pool default erasure code profile': 'k=1 m=1',
    'mon max pg per osd': 2_000,
    'mon data avail crit': 1,
    // The monitor is the only one, so its commits wait for no other monitor.
    'paxos propose interval': 0.02,
    'paxos min wait': 0.01,
    'run dir': join(folder, 'run'),
    'admin socket': join(folder, 'run', '$cluster-$name.$pid.asok'),
    'log file': join(folder, '$name.log'),
    'plugin dir': join(libraries, 'ceph'),
    'erasure code dir': join(libraries, 'ceph', 'erasure-code'),
    'osd class dir': join(libraries, 'rados-classes'),
    'osd class load list': '*',
    'osd class default list': '*',
    'setuser match path': '',
  };
  const monitor = { 'mon data': join(folder, 'mon'), 'mon addr': `127.0.0.1:${monitorPort}` };
  const disk = {
    'osd data': join(folder, 'osd'),
    'osd objectstore': 'memstore',
    'memstore device bytes': 2 ** 32,
    'osd max write size': 100,
    // The store would do this at its start, and end if the monitor does not know it yet.
    'osd class update on start': false,
    'osd crush update on start': false,
  };
  const gateway = {
    'rgw data': join(folder, 'gateway'),
    'rgw frontends': `beast endpoint=127.0.0.1:${port} tcp_nodelay=1`,
    'rgw thread pool size': 64,
    'rgw dns name': 'localhost',
  };
  return Object.entries({ global, 'mon.a': monitor, 'osd.0': disk, 'client.rgw.a': gateway })
    .map(([name, values]) => [
      `[${name}]`,
      ...Object.entries(values).map(([key, value]) => `${key} = ${value}`),
    ])
    .map((lines) => `${lines.join('\n')}\n`)
    .join('\n');
}
