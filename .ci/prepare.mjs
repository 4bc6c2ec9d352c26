// Makes a fresh clone runnable: installs the locked packages when they are missing or have changed and, with --redis,
// makes sure that a Redis server can be started. Runs on any Node that npm brings, so it uses nothing that is new.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const stamp = join(root, 'node_modules', '.wattline-lock');

installPackages();
if (process.argv.includes('--redis')) ensureRedis();

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
  const asRoot =
    process.getuid?.() === 0 ? [] : has('sudo') && quiet('sudo', ['-n', 'true']) ? ['sudo', '-n'] : undefined;
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
  const manager = managers.find((one) => has(one.command) && (!one.root || asRoot));
  if (manager) {
    say(`installing a Redis server (${manager.command}), which some tests need ...`);
    for (const step of manager.steps) {
      const [command, ...rest] = [...(manager.root ? asRoot : []), manager.command, ...step];
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
