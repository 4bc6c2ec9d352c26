import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { runWithoutConfig } from '../../src/cli/run-service.ts';
import { inTempFolder } from '../../src/cli/temp-folder.ts';
import type { EndReason, Terminal } from '../../src/service/terminal.ts';

function terminalThat(kill: Terminal['kill']) {
  const listeners: Array<(reason: EndReason) => void> = [];
  const terminal: Terminal = {
    cwd: '.',
    environment: {},
    isInteractive: false,
    out: () => undefined,
    err: () => undefined,
    onReload: () => () => undefined,
    onEnd(listener) {
      listeners.push(listener);
      return () => undefined;
    },
    kill,
  };
  const end = (reason: EndReason = 'SIGINT') => {
    for (const listener of listeners) listener(reason);
  };
  return { terminal, end };
}

test('a temporary folder is deleted after its work, even if the process is killed', async () => {
  const killed: string[] = [];
  let folder = '';
  const ended = Promise.withResolvers<void>();
  const { terminal, end } = terminalThat((signal) => {
    killed.push(`${signal}, ${existsSync(folder) ? 'left' : 'removed'}`);
    ended.resolve();
  });
  const command = new Command('x').option('--log-level <level>');
  command.setOptionValue('logLevel', 'silent');
  await runWithoutConfig(command, terminal, (service) =>
    inTempFolder('test', service, async (path) => {
      folder = path;
      writeFileSync(join(path, 'file'), 'x');
      end();
      // One Ctrl-C arrives twice under npm, so a second one counts a little later.
      end();
      await new Promise((resolve) => setTimeout(resolve, 300));
      // A closed output ends nothing at once.
      end('EPIPE');
      expect([existsSync(folder), killed, service.signal.aborted]).toEqual([true, [], true]);
      end();
      await ended.promise;
    }),
  );
  expect(killed).toEqual(['SIGINT, removed']);
  await runWithoutConfig(command, terminal, (service) =>
    inTempFolder('test', service, async (path) => {
      folder = path;
    }),
  );
  expect(existsSync(folder)).toBe(false);
});
