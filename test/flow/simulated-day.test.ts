import { expect, test } from 'vitest';
import { addDays, DAY_MS, dayStart, localDateOf, MINUTE_MS } from '../../src/lib/time.ts';
import { createSite } from '../../src/simulate/create-site.ts';
import { runSimulation } from '../../src/simulate/run-simulation.ts';
import { blocksOf } from '../support/readme.ts';
import { rounds } from '../support/rounds.ts';
import { createServiceProcess, queryLake } from '../support/service-process.ts';
import { until } from '../support/until.ts';

test('the report of simulated days equals the generated energy, to the watt-hour', async () => {
  const timezone = 'Australia/Lord_Howe';
  const firstDay = addDays(localDateOf(Date.now(), timezone), -4);
  const site = createSite({
    seed: 7,
    timezone,
    startMs: dayStart(firstDay, timezone),
    readingEveryMs: rounds(5, 1) * MINUTE_MS,
  });
  const service = await createServiceProcess({
    logLevel: 'warn',
    pipeline: { pollEvery: '200ms', rollupEvery: '500ms', publishEvery: '500ms' },
    workgroups: [{ id: 'site', timezone, energyStreams: site.energyStreams }],
  });
  await service.start();
  const { url, token } = service;
  // In parts with roll-ups in between, so that days are computed again as more of them arrives.
  const untilMs = Date.now();
  for (const part of [0.6, 1]) {
    await runSimulation({
      site,
      url,
      token,
      workgroup: 'site',
      speed: Number.POSITIVE_INFINITY,
      untilMs: Math.floor(site.startMs + part * (untilMs - site.startMs)),
    });
  }
  const days = [0, 1, 2, 3]
    .map((offset) => addDays(firstDay, offset))
    .filter((day) => site.settledMs(day) <= untilMs);
  expect(days.length).toBeGreaterThanOrEqual(2);
  const expected = Object.fromEntries(
    days.map((day) => [
      day,
      Object.fromEntries(
        site
          .truth(day)
          .map(({ device, source, energyWh }) => [`${device}.${source}`, energyWh])
          .sort(),
      ),
    ]),
  );
  const path = `/api/v1/orgs/site/daily-energy?groupBy=source&startDate=${days[0]}&endDate=${days.at(-1)}`;
  let reported: unknown;
  await until('the report agrees with the simulator', async () => {
    const answer = await fetch(url + path, { headers: { authorization: `Bearer ${token}` } });
    reported = await answer.json();
    return JSON.stringify(reported) === JSON.stringify(expected);
  }).catch(() => undefined);
  expect(reported).toEqual(expected);
  expect(untilMs - site.startMs).toBeGreaterThan(3 * DAY_MS);
  expect(await service.stop()).toBe(0);
  for (const sql of blocksOf('docs/lake.md', 'sql')) {
    const rows = await queryLake(service.config, 'site', sql);
    expect([sql, /FROM (quarantine|audit_log)/.test(sql) || rows!.length > 0]).toEqual([sql, true]);
  }
});
