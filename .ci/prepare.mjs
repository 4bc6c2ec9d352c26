// Makes a fresh clone runnable: installs the locked packages and builds the web page if they are missing or have changed.
// --redis makes sure that a Redis server can be started. --clients does the same for curl and a Python client of the stream, and --browser for a
// browser; without these, their tests are skipped. It runs on any Node that npm brings, so it uses nothing that is new.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPage } from './build-page.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const stamp = join(root, 'node_modules', '.wattline-lock');

installPackages();
if (!buildPage(root)) fail('the web page could not be built; see the output above.');
if (process.argv.includes('--redis')) ensureRedis();
if (process.argv.includes('--clients')) ensureClients();
if (process.argv.includes('--browser')) ensureBrowser();

function installPackages() {
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  const node = join(root, 'node_modules', '.bin', 'node');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock && existsSync(node)) return;
  say('installing packages (npm ci) ...');
  // Another Node may run npm than the one that is pinned here: its engine warnings do not apply.
  if (!run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']))
    fail('npm ci failed; see its output above.');
  writeFileSync(stamp, lock);
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

/** Without them their tests are skipped, and say so: unlike Redis they are no part of what is tested. */
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
 * Fetches Debian's browser without a window into the user's cache (100 MB), with the libraries that the system lacks. Nothing is installed, so no
 * rights are needed. The tests of the page look for it there.
 */
function ensureBrowser() {
  if (process.env.WATTLINE_TEST_BROWSER) return;
  if (['chromium-headless-shell', 'chromium', 'google-chrome'].some(has)) return;
  const home = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const cache = join(home, 'wattline', 'browser');
  if (existsSync(join(cache, 'usr/lib/chromium/chromium-headless-shell'))) return;
  const skipped =
    'no browser: the tests of the web page will be skipped.\n' +
    '  Debian, Ubuntu: sudo apt-get install chromium-headless-shell\n' +
    '  or name one:    WATTLINE_TEST_BROWSER=/path/to/chromium npm test';
  if (!has('apt-get') || !has('dpkg')) return say(skipped);
  const missing = missingPackages() || (asRoot() && refreshLists() && missingPackages());
  if (!missing) return say(skipped);
  say('fetching a browser (apt-get download), which the tests of the web page need ...');
  const partial = `${cache}.${process.pid}`;
  mkdirSync(partial, { recursive: true });
  const fetched =
    run('apt-get', ['download', '-q', ...missing], {}, partial) &&
    readdirSync(partial)
      .filter((file) => file.endsWith('.deb'))
      .every((file) => run('dpkg', ['-x', file, '.'], {}, partial) && !rmSync(join(partial, file)));
  rmSync(cache, { recursive: true, force: true });
  if (fetched) return renameSync(partial, cache);
  rmSync(partial, { recursive: true, force: true });
  say(skipped);
}

/** The packages that the browser needs and the system lacks; undefined if there is no such browser. */
function missingPackages() {
  const plan = spawnSync('apt-get', ['install', '-s', '--no-install-recommends', 'chromium-headless-shell'], {
    encoding: 'utf8',
  });
  const names = [...(plan.stdout ?? '').matchAll(/^Inst (\S+)/gm)].map(([, name]) => name);
  return names.length > 0 ? names : undefined;
}

function refreshLists() {
  const [command, ...rest] = [...asRoot(), 'apt-get', 'update', '-qq'];
  return run(command, rest);
}

/** How to run a command as root: a prefix, or undefined where that is not possible. */
function asRoot() {
  if (process.getuid?.() === 0) return [];
  return has('sudo') && quiet('sudo', ['-n', 'true']) ? ['sudo', '-n'] : undefined;
}

function run(command, args, env = {}, cwd = root) {
  // Nothing of this belongs on standard output, which is the command's that follows.
  return (
    spawnSync(command, args, { cwd, stdio: ['ignore', 2, 2], env: { ...process.env, ...env } }).status === 0
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
