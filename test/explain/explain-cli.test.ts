import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { explainedSchema } from '../../src/explain/explained-schema.ts';
import { deviceId } from '../support/messages.ts';
import { isSoak } from '../support/rounds.ts';
import { runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';
import { createServiceProcess } from '../support/service-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const device = deviceId(1);
const startMs = Date.parse('2026-11-10T00:00:00Z');

const configuration = {
  workgroups: [
    {
      id: 'acme',
      devices: [{ id: device, name: 'garage' }],
      energyStreams: [{ table: 'solar', field: 'total', method: 'total_energy' as const, unit: 'kWh' }],
    },
  ],
};

// report/explain.test.ts has HTTP, and docs/first-steps.test.ts the command.
test.runIf(isSoak)(
  'the command and HTTP give the same explanation of a day, with and without a running service',
  async () => {
    const service = await createServiceProcess(configuration);
    await service.start();
    const authorization = { Authorization: `Bearer ${service.token}` };
    const items = ['roof', 'shed'].flatMap((source) =>
      [0, 12, 24].map((hour) => ({
        device,
        source,
        event_time: startMs + hour * 3_600_000,
        data: { total: 100 + hour / 10 },
      })),
    );
    const sent = await fetch(`${service.url}/api/v1/tables/acme/solar/messages`, {
      method: 'POST',
      headers: { ...authorization, 'Content-Type': 'application/json' },
      body: JSON.stringify(items),
    });
    expect(sent.status).toBeLessThan(300);
    const url = `${service.url}/api/v1/orgs/acme/daily-energy/explain?device=${device}&day=2026-11-10`;
    let overHttp = '';
    await until('the day has its energy', async () => {
      const response = await fetch(url, { headers: authorization });
      overHttp = await response.text();
      return response.status === 200 && JSON.parse(overHttp).energyWh === 4_800;
    });

    const cwd = dirname(service.config.dataDir);
    const command = ['explain', 'Garage', '2026-11-10'];
    const json = [...command, '--json'];
    const page = await runCli(command, { cwd });
    expect([page.code, page.stderr]).toEqual([0, '']);
    expect(page.stdout).toMatch(/^garage \(.*\), 2026-11-10, Etc\/UTC, 24 h\n4,800 Wh, from 2 sources\n/);
    expect(page.stdout).toContain('\n  (102,400 - 100,000) = 2,400 Wh\n');
    const beside = await runCommand(json, { cwd });
    expect([beside.code, beside.stderr]).toEqual([0, '']);
    expect(beside.stdout).toBe(`${overHttp}\n`);
    explainedSchema.strict().parse(JSON.parse(beside.stdout));

    const one = await runCommand([...json, '--source', 'shed'], { cwd });
    expect(JSON.parse(one.stdout)).toMatchObject({ energyWh: 2_400, sources: [{ source: 'shed' }] });
    const nothing = await runCommand(['explain', device, '2026-11-20'], { cwd });
    expect([nothing.code, nothing.stdout]).toEqual([
      0,
      expect.stringMatching(
        /has no readings and no energy\n(.*\n)*the last day with energy before it is 2026-11-10\n$/,
      ),
    ]);
    const elsewhere = await runCommand([...command, '--source', 'attic'], { cwd });
    expect(elsewhere.stdout).toContain('the device has no readings of a source "attic"; it has roof, shed\n');

    expect(await service.stop()).toBe(0);
    const after = await runCommand(json, { cwd });
    expect([after.code, after.stderr, after.stdout]).toEqual([0, '', beside.stdout]);
    const unknown = await runCommand(['explain', deviceId(9), '2026-11-10'], { cwd });
    expect([unknown.code, unknown.stdout, unknown.stderr]).toEqual([
      1,
      '',
      expect.stringMatching(
        /none of the configured energy streams has a reading of this device; configured names are garage\n$/,
      ),
    ]);
  },
);

describe('the command reports wrong arguments', () => {
  const explain = (args: string[], text = 'workgroups: [{ id: acme }, { id: globex }]') => {
    const cwd = tempDir();
    writeFileSync(join(cwd, 'wattline.yaml'), text);
    return runCommand(['explain', ...args], { cwd });
  };

  test.each([
    [
      ['garage', '2026-11-10', '-w', 'acme'],
      2,
      /device: "garage" is neither a device id \(a UUID\) nor a configured name of workgroup acme/,
    ],
    [[device, '2026-02-30', '-w', 'acme'], 2, /day: "2026-02-30" is not an existing day/],
    [[device, '2026-11-10'], 2, /--workgroup: is missing; configured are acme, globex/],
    [
      [device, '2026-11-10', '-w', 'initech'],
      2,
      /--workgroup: "initech" is not configured; configured are acme, globex/,
    ],
    [[device], 2, /missing required argument 'day'/],
    [[device, 'today', '-w', 'acme'], 3, /workgroup acme has stored nothing yet .*; start a worker/],
  ])('%s', async (args, code, message) => {
    const result = await explain(args);
    expect([result.code, result.stdout, result.stderr]).toEqual([code, '', expect.stringMatching(message)]);
  });
});
