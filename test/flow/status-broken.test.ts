import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ConfigInput } from '../../src/config/config.ts';
import { readStatus } from '../../src/pipeline/workgroup-status.ts';
import { runCommand } from '../support/run-command.ts';
import { createServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const config: ConfigInput = {
  pipeline: { pollEvery: '200ms', rollupEvery: '300ms', publishEvery: '300ms', hibernateAfter: '1s' },
  workgroups: [{ id: 'home' }, { id: 'new' }],
};

test('status does not look well if the worker was stopped by a signal or killed while all workgroups hibernate', async () => {
  const service = await createServiceProcess(config);
  const cwd = join(service.config.dataDir, '..');
  const status = async () => {
    const { code, stdout, stderr } = await runCommand(['status', '--json'], { cwd });
    const states = JSON.parse(stdout) as Array<{ state: string; troubles: Array<{ message: string }> }>;
    return {
      code,
      stderr,
      states: states.map(({ state }) => state),
      problems: states.map(({ troubles }) => troubles.map(({ message }) => message)),
    };
  };
  const hibernate = () =>
    until('all hibernate', () =>
      ['home', 'new'].every((id) => readStatus(service.config.dataDir, id)?.isHibernated === true),
    );

  await service.start();
  const answer = await fetch(`${service.url}/api/v1/tables/home/solar/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
    body: JSON.stringify([
      {
        device: '00000000-0000-4000-8000-000000000001',
        source: 'pv',
        event_time: Date.now(),
        data: { total: 1 },
      },
    ]),
  });
  expect(answer.status).toBe(200);
  await until(
    'the message has landed',
    () => readStatus(service.config.dataDir, 'home')?.storedMessages === 1,
  );
  await hibernate();
  expect(await status()).toMatchObject({ code: 0, states: ['hibernated', 'hibernated'] });

  const { processId } = service;
  process.kill(processId!, 'SIGSTOP');
  const stopped = await status();
  expect(stopped.code).toBe(4);
  for (const problems of stopped.problems)
    expect(problems).toEqual([
      expect.stringMatching(
        `process ${processId}, started at .*, which is stopped and keeps its locks: continue it with "kill -CONT ${processId}"`,
      ),
    ]);
  process.kill(processId!, 'SIGCONT');
  expect(await status()).toMatchObject({ code: 0, states: ['hibernated', 'hibernated'] });

  await service.kill();
  const killed = await status();
  expect(killed).toMatchObject({ code: 4, states: ['stopped', 'stopped'] });
  for (const problems of killed.problems)
    expect(problems).toEqual([
      expect.stringMatching(`its worker, process ${processId}, was killed or has crashed; .*"wattline up"`),
    ]);

  await service.start();
  await hibernate();
  expect(await status()).toMatchObject({ code: 0, states: ['hibernated', 'hibernated'] });
  expect(await service.stop()).toBe(0);
  expect(await status()).toMatchObject({ code: 0, states: ['stopped', 'stopped'], problems: [[], []] });
});
