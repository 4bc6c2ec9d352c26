// Makes a fresh clone runnable: installs the locked packages and builds the web page, if they are missing or have changed. With --redis, it
// makes sure that a Redis server can be started; with --clients, that curl and a Python client of the stream can be, where they
// are to be had; with --clock, the library that shows processes another time; with --s3, a real S3 server; with --mqtt, a broker; with --browser,
// a browser; with --promtool, the tool that checks metrics and alerts of Prometheus. Runs on any
// Node that npm brings, so it uses nothing that is new.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPage } from './build-page.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

installPackages();
if (!buildPage(root)) fail('the web page could not be built; see the output above.');
if (process.argv.includes('--redis')) ensureRedis();
if (process.argv.includes('--clients')) ensureClients();
if (process.argv.includes('--s3')) ensureS3();
if (process.argv.includes('--mqtt')) ensureBroker();
if (process.argv.includes('--clock')) ensureFakeTime();
if (process.argv.includes('--browser')) ensureBrowser();
if (process.argv.includes('--promtool')) ensurePromtool();

function installPackages() {
  if (hasPackages() && existsSync(join(root, 'node_modules', '.bin', 'node'))) return;
  say('installing packages (npm ci) ...');
  // Another Node may run npm than the one that is pinned here: its engine warnings do not apply.
  if (!run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']))
    fail('npm ci failed; see its output above.');
}

/** True if the list of installed packages, which npm writes at the end, has all locked ones. Optional ones may be for another system. */
function hasPackages() {
  const list = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(list)) return false;
  const [wanted, installed] = [join(root, 'package-lock.json'), list].map(
    (file) => JSON.parse(readFileSync(file, 'utf8')).packages,
  );
  return Object.entries(wanted).every(
    ([path, { optional, integrity }]) => path === '' || optional || installed[path]?.integrity === integrity,
  );
}

function ensureRedis() {
  if (process.env.WATTLINE_TEST_REDIS_SERVER || has('redis-server')) return;
  const root = asRoot();
  const managers = [
    {
      command: 'apt-get',
      steps: [
        ['update', '-qq'],
        ['install', '-y', '-qq', '--no-install-recommends', 'redis-server'],
      ],
      root: true,
    },
    { command: 'dnf', steps: [['install', '-y', '-q', 'redis']], root: true },
    { command: 'apk', steps: [['add', '-q', 'redis']], root: true },
    { command: 'brew', steps: [['install', '-q', 'redis']], root: false },
  ];
  const manager = managers.find((one) => has(one.command) && (!one.root || root));
  if (manager) {
    say(`installing a Redis server (${manager.command}), which some tests need ...`);
    for (const step of manager.steps) {
      const [command, ...rest] = [...(manager.root ? root : []), manager.command, ...step];
      if (!run(command, rest, { DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' })) break;
    }
  }
  if (!has('redis-server')) {
    fail(
      'The tests need a Redis server (7 or later) and none is installed.\n' +
        '  Debian, Ubuntu: sudo apt-get install redis-server     Fedora: sudo dnf install redis\n' +
        '  macOS:          brew install redis                    Alpine: sudo apk add redis\n' +
        '  or name one: WATTLINE_TEST_REDIS_SERVER=/path/to/redis-server npm test',
    );
  }
}

/** Without them their tests are skipped, and say so: unlike Redis they are not part of what is tested. */
function ensureClients() {
  const candidates = [process.env.WATTLINE_TEST_PYTHON, '/usr/bin/python3', 'python3'].filter(Boolean);
  const isThere = () =>
    has('curl') && candidates.some((python) => quiet(python, ['-c', 'import cbor2, socketio, websocket']));
  if (isThere()) return;
  const root = asRoot();
  if (root && has('apt-get')) {
    say(
      'installing curl and Python with socketio and cbor2 (apt-get), which tests of other clients need ...',
    );
    const packages = ['curl', 'python3', 'python3-socketio', 'python3-cbor2', 'python3-websocket'];
    const install = ['install', '-y', '-qq', '--no-install-recommends', ...packages];
    const apt = (args) => {
      const [command, ...rest] = [...root, 'apt-get', ...args];
      return run(command, rest, { DEBIAN_FRONTEND: 'noninteractive' });
    };
    // The lists may be fresh already.
    if (!apt(install)) apt(['update', '-qq']) && apt(install);
  }
  if (!isThere())
    say(
      'no curl, or no Python with socketio, cbor2 and websocket: the tests of such clients will be skipped.\n' +
        '  Debian, Ubuntu: sudo apt-get install curl python3-socketio python3-cbor2 python3-websocket\n' +
        '  or name one:    WATTLINE_TEST_PYTHON=/path/to/python3 npm test',
    );
}

/**
 * Unpacks radosgw, the S3 server of Ceph, from packages of Debian or Ubuntu. Nothing is installed: the packages stay in a folder of the user's
 * cache, which test/support/radosgw.ts reads. Without them the tests of S3 are skipped, and say so.
 */
function ensureS3() {
  if (process.env.WATTLINE_TEST_S3_ENDPOINT) return;
  const folder =
    process.env.WATTLINE_TEST_RADOSGW ??
    join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'wattline', 'radosgw');
  if (existsSync(join(folder, 'complete'))) return;
  const skipped = (why) =>
    say(
      `no S3 server for the tests (${why}): the tests of S3 will be skipped.\n` +
        '  On Debian or Ubuntu it is radosgw, from the packages radosgw, ceph-mon and ceph-osd.\n' +
        '  Or name another store: WATTLINE_TEST_S3_ENDPOINT, with the keys beside it (docs/testing.md)',
    );
  if (!has('apt-get') || !has('dpkg')) return skipped('there is no apt-get');
  say('fetching radosgw, an S3 server which some tests need (apt-get download, about 60 MB) ...');
  const problem = unpackPackages(['radosgw', 'ceph-mon', 'ceph-osd'], folder);
  if (problem) skipped(problem);
}

/** Unpacks mosquitto into the user's cache, as above. test/support/mosquitto.ts looks for it there. */
function ensureBroker() {
  if (process.env.WATTLINE_TEST_MOSQUITTO || has('mosquitto') || existsSync('/usr/sbin/mosquitto')) return;
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'wattline', 'mosquitto');
  if (existsSync(join(folder, 'complete'))) return;
  const skipped = (why) =>
    say(
      `no MQTT broker for the tests (${why}): the tests of MQTT will be skipped.\n` +
        '  Debian, Ubuntu: sudo apt-get install mosquitto     macOS: brew install mosquitto\n' +
        '  or name one:    WATTLINE_TEST_MOSQUITTO=/path/to/mosquitto npm test',
    );
  if (!has('apt-get') || !has('dpkg')) return skipped('there is no apt-get');
  say('fetching mosquitto, an MQTT broker which some tests need (apt-get download, about 1 MB) ...');
  const problem = unpackPackages(['mosquitto'], folder);
  if (problem) skipped(problem);
}

/**
 * Unpacks Debian's browser without a window into the user's cache, as above. The tests of the web page look for it there
 * (test/web/support/find-browser.ts). A browser with windows takes six times as much of the processor for a page, so it is used only if
 * this one cannot be fetched.
 */
function ensureBrowser() {
  if (process.env.WATTLINE_TEST_BROWSER || has('chromium-headless-shell')) return;
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'wattline', 'browser');
  if (existsSync(join(folder, 'complete'))) return;
  // The browser does not start without the data of chromium-common in its folder, so it is unpacked even if it is installed.
  const packages = ['chromium-headless-shell', 'chromium-common'];
  const hasOther = ['chromium', 'google-chrome'].some(has);
  if (hasOther && packageNames(packages).length === 0) return;
  const skipped = (why) => {
    if (hasOther) return;
    say(
      `no browser for the tests (${why}): the tests of the web page will be skipped.\n` +
        '  On Debian or Ubuntu it is the package chromium-headless-shell.\n' +
        '  Or name one: WATTLINE_TEST_BROWSER=/path/to/chromium npm test',
    );
  };
  if (!has('apt-get') || !has('dpkg')) return skipped('there is no apt-get');
  say('fetching a browser, which the tests of the web page need (apt-get download, about 100 MB) ...');
  const problem = unpackPackages(packages, folder);
  if (problem) skipped(problem);
}

/** Unpacks promtool from Debian's package prometheus into the user's cache, as above, where test/support/promtool.ts finds it. No service is installed. */
function ensurePromtool() {
  if (process.env.WATTLINE_TEST_PROMTOOL || has('promtool')) return;
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'wattline', 'prometheus');
  if (existsSync(join(folder, 'complete'))) return;
  const skipped = (why) =>
    say(
      `no promtool for the tests (${why}): the tests of alerts will be skipped.\n` +
        '  On Debian or Ubuntu it is in the package prometheus.\n' +
        '  Or name one: WATTLINE_TEST_PROMTOOL=/path/to/promtool npm test',
    );
  if (!has('apt-get') || !has('dpkg')) return skipped('there is no apt-get');
  say('fetching promtool, which the tests of alerts need (apt-get download, about 20 MB) ...');
  const problem = unpackPackages(['prometheus'], folder);
  if (problem) skipped(problem);
}

/**
 * Downloads packages with what they need, and unpacks them into a folder. The folder has a file "complete" at the end.
 * @returns why that was not possible
 */
function unpackPackages(wanted, folder) {
  let list = packageNames(wanted);
  if (list.length === 0) {
    const root = asRoot();
    if (root) {
      const [command, ...rest] = [...root, 'apt-get', 'update', '-qq'];
      run(command, rest);
      list = packageNames(wanted);
    }
  }
  if (list.length === 0) return 'apt-get does not know the packages';
  const draft = `${folder}.${process.pid}`;
  const packages = join(draft, 'packages');
  mkdirSync(packages, { recursive: true });
  const isFetched =
    spawnSync('apt-get', ['download', '-qq', ...list], { cwd: packages, stdio: ['ignore', 2, 2] }).status ===
    0;
  const isUnpacked =
    isFetched && readdirSync(packages).every((name) => run('dpkg', ['-x', join(packages, name), draft]));
  if (!isUnpacked) {
    rmSync(draft, { recursive: true, force: true });
    return 'the packages cannot be fetched or unpacked';
  }
  rmSync(packages, { recursive: true });
  writeFileSync(join(draft, 'complete'), `${list.join('\n')}\n`);
  rmSync(folder, { recursive: true, force: true });
  renameSync(draft, folder);
}

/** The given packages and everything that they need and this machine lacks. Empty if apt-get does not know them. */
function packageNames(wanted) {
  const planned = spawnSync('apt-get', ['install', '-s', '--no-install-recommends', ...wanted], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  if (planned.status !== 0) return [];
  const lacking = planned.stdout.split('\n').flatMap((line) => /^Inst (\S+)/.exec(line)?.[1] ?? []);
  return [...new Set([...wanted, ...lacking])];
}

/** Shows processes another time. Without it the tests that set the clock are skipped. */
function ensureFakeTime() {
  if (process.env.WATTLINE_TEST_FAKETIME) return;
  const isThere = () =>
    quiet('sh', [
      '-c',
      'ls /usr/lib*/*/faketime/libfaketimeMT.so.1 /usr/lib*/faketime/libfaketimeMT.so.1 | grep -q .',
    ]);
  if (isThere()) return;
  const root = asRoot();
  if (root && has('apt-get')) {
    say('installing libfaketime (apt-get), which tests that set the clock need ...');
    const apt = (args) => {
      const [command, ...rest] = [...root, 'apt-get', ...args];
      return run(command, rest, { DEBIAN_FRONTEND: 'noninteractive' });
    };
    const install = ['install', '-y', '-qq', '--no-install-recommends', 'libfaketime'];
    if (!apt(install)) apt(['update', '-qq']) && apt(install);
  }
  if (!isThere())
    say(
      'no libfaketime: the tests that set the clock will be skipped.\n' +
        '  Debian, Ubuntu: sudo apt-get install libfaketime\n' +
        '  or name it:     WATTLINE_TEST_FAKETIME=/path/to/libfaketimeMT.so.1 npm test',
    );
}

/** How to run a command as root: a prefix, or undefined where that is not possible. */
function asRoot() {
  if (process.getuid?.() === 0) return [];
  return has('sudo') && quiet('sudo', ['-n', 'true']) ? ['sudo', '-n'] : undefined;
}

function run(command, args, env = {}) {
  // Nothing of this belongs on standard output, which is the command's that follows.
  return (
    spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2], env: { ...process.env, ...env } })
      .status === 0
  );
}
function quiet(command, args) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}
function has(command) {
  return quiet('sh', ['-c', `command -v ${command}`]);
}
function say(text) {
  process.stderr.write(`wattline: ${text}\n`);
}
function fail(text) {
  process.stderr.write(`wattline: ${text}\n`);
  process.exit(1);
}
