import { expect, onTestFinished, test } from 'vitest';
import { connectHomeAssistant } from '../../src/home-assistant/connect-home-assistant.ts';
import { listStatistics } from '../../src/home-assistant/list-statistics.ts';
import { startHomeAssistant } from '../support/home-assistant.ts';

test('sums of energy and means of power are listed by id, as older and newer versions describe them', async () => {
  const server = await startHomeAssistant();
  const homeAssistant = await connectHomeAssistant(server, new AbortController().signal);
  onTestFinished(() => homeAssistant.close());
  const statistic = (statistic_id: string, unit: string | null, facts: object) => ({
    ...{ statistic_id, statistics_unit_of_measurement: unit, has_sum: false, ...facts },
  });
  server.listed = [
    statistic('sensor.new', 'W', { mean_type: 1 }),
    statistic('sensor.angle', 'W', { has_mean: false, mean_type: 2 }),
    statistic('sensor.old', 'kW', { has_mean: true }),
    statistic('sensor.no_mean', 'W', { has_mean: false, mean_type: 0 }),
    statistic('sensor.nothing', 'W', {}),
    statistic('sensor.energy', 'kWh', { has_sum: true, has_mean: true, name: 'Roof' }),
    statistic('sensor.mean_energy', 'kWh', { has_mean: true }),
    statistic('sensor.summed_power', 'W', { has_sum: true }),
    statistic('sensor.temperature', '°C', { has_mean: true }),
    statistic('sensor.count', null, { has_sum: true }),
  ];
  expect(await listStatistics(homeAssistant)).toEqual([
    { id: 'sensor.angle', name: null, kind: 'power', unit: 'W' },
    { id: 'sensor.energy', name: 'Roof', kind: 'energy', unit: 'kWh' },
    { id: 'sensor.new', name: null, kind: 'power', unit: 'W' },
    { id: 'sensor.old', name: null, kind: 'power', unit: 'kW' },
  ]);
});
