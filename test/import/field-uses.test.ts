import { expect, test } from 'vitest';
import { listFieldUses } from '../../src/import/field-uses.ts';
import { testWorkgroup } from './settings.ts';

test('only the energy streams of the table use its fields, at their positions in the configuration', () => {
  const { energyStreams } = testWorkgroup({
    energyStreams: [
      { table: 'solar', field: 'wh', method: 'total_energy', unit: 'Wh' },
      { table: 'grid', field: 'wh', method: 'total_energy', unit: 'kWh' },
    ],
  });
  expect([...listFieldUses('grid', energyStreams)]).toEqual([
    ['wh', [{ position: 1, method: 'total_energy', unit: 'kWh', isUnit: false }]],
  ]);
});
