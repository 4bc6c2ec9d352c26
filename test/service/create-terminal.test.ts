import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { createTerminal, type EndReason } from '../../src/service/terminal.ts';

/** A process whose output and end the test sees. */
function setUp() {
  const exits: unknown[] = [];
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const host = Object.assign(new EventEmitter(), {
    stdout,
    stderr,
    cwd: () => '/',
    env: {},
    pid: 7,
    exit: (code: unknown) => exits.push(code),
    kill: (pid: number, signal: string) => exits.push([pid, signal]),
  });
  const terminal = createTerminal(host as unknown as Parameters<typeof createTerminal>[0]);
  const close = (stream: PassThrough) => stream.emit('error', Object.assign(new Error(), { code: 'EPIPE' }));
  return { host, terminal, exits, stdout, stderr, close };
}

test('a command whose output nobody reads ends without an error, and a service stops in order', () => {
  const command = setUp();
  command.close(command.stdout);
  command.close(command.stderr);
  expect(command.exits).toEqual([0]);

  const service = setUp();
  const reasons: EndReason[] = [];
  const stop = service.terminal.onEnd((reason) => reasons.push(reason));
  service.close(service.stderr);
  expect([reasons, service.exits]).toEqual([['EPIPE'], []]);
  for (const signal of ['SIGINT', 'SIGTERM']) service.host.emit(signal, signal);
  expect(reasons).toEqual(['EPIPE', 'SIGINT', 'SIGTERM']);
  stop();
  expect(service.host.eventNames()).toEqual([]);
});

test('another error of the output is not passed over', () => {
  const { stdout } = setUp();
  expect(() => stdout.emit('error', new Error('the disk is full'))).toThrow('the disk is full');
});

test('a process that is killed does not handle the signal', () => {
  const { host, terminal, exits } = setUp();
  terminal.onEnd(() => undefined);
  terminal.kill('SIGINT');
  expect([host.listenerCount('SIGINT'), exits]).toEqual([0, [[7, 'SIGINT']]]);
});
