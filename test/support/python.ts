import { spawnSync } from 'node:child_process';

/**
 * A Python with the packages that a client needs. Debian's packages belong to Debian's own Python, which need
 * not be the first one in PATH.
 */
export const python = [process.env.WATTLINE_TEST_PYTHON, '/usr/bin/python3', 'python3'].find(
  (command) =>
    command !== undefined &&
    spawnSync(command, ['-c', 'import cbor2, socketio, websocket'], { stdio: 'ignore' }).status === 0,
);
/**
 * The reason is also written to standard error, because some reporters do not show why a test was skipped.
 */
export const MISSING =
  'no Python with socketio, cbor2 and websocket: apt-get install python3-socketio python3-cbor2 python3-websocket, or name one in WATTLINE_TEST_PYTHON';
