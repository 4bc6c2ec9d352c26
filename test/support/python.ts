import { spawnSync } from 'node:child_process';

/**
 * A Python that has what a client needs. Debian's packages belong to its own Python, whichever stands first
 * in PATH.
 */
export const python = [process.env.WATTLINE_TEST_PYTHON, '/usr/bin/python3', 'python3'].find(
  (command) =>
    command !== undefined &&
    spawnSync(command, ['-c', 'import cbor2, socketio, websocket'], { stdio: 'ignore' }).status === 0,
);
/** Said on standard error too: not every reporter says why a test was skipped. */
export const MISSING =
  'no Python with socketio, cbor2 and websocket: apt-get install python3-socketio python3-cbor2 python3-websocket, or name one in WATTLINE_TEST_PYTHON';
