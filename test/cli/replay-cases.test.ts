import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readCases } from '../../src/cli/replay-cases.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wattline-replay-cases-'));
});
afterAll(() => rm(folder, { recursive: true }));

const one = {
  id: 'mine',
  timezone: 'Europe/Berlin',
  energyStreams: [{ field: 'energy', method: 'total_energy', unit: 'kWh' }],
  readings: [],
};

async function write(content: unknown): Promise<string> {
  const file = join(folder, 'cases.json');
  await writeFile(file, JSON.stringify(content));
  return file;
}

test('a folder without case.json is said to lack it, and not to hold bad JSON', async () => {
  await expect(readCases(folder)).rejects.toThrow(/case\.json has a problem:\n.*cannot be read: ENOENT/);
});

test('a file without cases is a problem, and not a success that shows nothing', async () => {
  await expect(readCases(await write([]))).rejects.toThrow('holds no case');
});

test('two cases of one id are a problem, for the energy of one would be lost', async () => {
  await expect(readCases(await write([one, one]))).rejects.toThrow('has two cases with the id "mine"');
  await expect(readCases(await write([one, { ...one, id: 'other' }]))).resolves.toHaveLength(2);
});
