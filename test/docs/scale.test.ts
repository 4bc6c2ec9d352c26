import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { LEASE_MS } from '../../jobs/leases.ts';
import { configSchema } from '../../src/config/config.ts';
import { sharingProblems, sharingWarnings } from '../../src/service/require-shared-storage.ts';
import { loadConfig } from '../support/load-config.ts';
import { blocksOf, pages, repositoryRoot } from '../support/readme.ts';
import { tempDir } from '../support/temp-dir.ts';
import { findConstants } from './find-limits.ts';

const PAGE = 'docs/scale.md';
const page = pages.get(PAGE)!;
const defaults = configSchema.parse({ workgroups: [{ id: 'home' }] });

/** The rows of the table that follows a heading row. */
function tableOf(heading: string): string[][] {
  const [, ...lines] = page.slice(page.indexOf(`| ${heading} |`)).split('\n');
  const end = lines.findIndex((line) => !line.startsWith('|'));
  return lines.slice(1, end).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

const inputs = new Map(tableOf('input').map(([name, value]) => [name!, Number(value)]));
const formula = blocksOf(PAGE, 'text').find((block) => block.startsWith('commits ='))!;

/** Evaluates the lines of the formula, one after the other. */
function evaluate(given: Readonly<Record<string, number>>): Record<string, number> {
  const known: Record<string, number> = { ...Object.fromEntries(inputs), ...given };
  for (const line of formula.trim().split('\n')) {
    const [, name, expression] = /^(\w+) = ([\w\s.*/+()-]+)$/.exec(line)!;
    const plain = expression!.replace(/[A-Za-z]\w*/g, (each) => {
      if (!Object.hasOwn(known, each)) throw new Error(`the page has no input ${each}`);
      return String(known[each]);
    });
    known[name!] = new Function(`return ${plain}`)() as number;
  }
  return known;
}

/** A duration of the table, such as `5m`, in seconds. */
function seconds(text: string): number {
  const { commitEvery } = configSchema.parse({
    storage: { commitEvery: text },
    stream: { retention: '7d' },
  }).storage;
  return commitEvery / 1_000;
}

function shown(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: 3 });
}

const rows = tableOf('workgroups');

describe('the page about growing', () => {
  test('shows sizes and costs for each number of workgroups', () => {
    expect(new Set(rows.map(([workgroups]) => workgroups))).toEqual(new Set(['10', '1,000', '10,000']));
    expect([...inputs.values()].every((value) => value > 0)).toBe(true);
  });

  test.each(rows)('%s workgroups, commits every %s, publications every %s', (...row) => {
    const [workgroups, commitEvery, publishEvery, ...cells] = row;
    const found = evaluate({
      workgroups: Number(workgroups!.replaceAll(',', '')),
      commitSeconds: seconds(commitEvery!),
      publishSeconds: seconds(publishEvery!),
    });
    const { puts, lists, gets, bytes, dollars, cores } = found;
    expect(cells).toEqual(
      [puts! / 1e6, lists! / 1e6, gets! / 1e6, bytes! / 1e9, dollars!, cores!].map(shown),
    );
  });

  test('uses the constants of the code', () => {
    const constants = findConstants();
    const source = (path: string) => readFileSync(join(repositoryRoot, path), 'utf8');
    expect(constants.get('s3-store.ts KEYS_PER_PAGE')).toEqual([inputs.get('pageKeys')]);
    expect(constants.get('upload-analytics.ts EVERY_MS')).toEqual([inputs.get('viewSeconds')! * 1_000]);
    expect(source('src/replica/replica-owner.ts')).toContain('ageMs >= HOUR_MS');
    expect(inputs.get('collectSeconds')).toBe(3_600);
    expect(constants.get('collect-replica.ts CONTENT_MS')).toEqual([inputs.get('contentSeconds')! * 1_000]);
    expect(constants.get('collect-replica.ts KEYS_MS')).toEqual([inputs.get('keySeconds')! * 1_000]);
    expect(source('src/report/lake/stored-lake.ts')).toContain(
      `lookEveryMs = ${inputs.get('lookSeconds')} * SECOND_MS`,
    );
    const { openWorkgroupsMax, warehouseMemoryMegabytes, publishEvery } = defaults.pipeline;
    expect(page).toContain(`| ${openWorkgroupsMax} | \`pipeline.openWorkgroupsMax\``);
    expect(page).toContain(`| ${warehouseMemoryMegabytes} MB | \`pipeline.warehouseMemoryMegabytes\``);
    expect(page).toContain(`a publication every ${publishEvery / 1_000} s`);
    expect(page).toContain(`the lease of the killed worker ends (${LEASE_MS / 1_000} s)`);
    expect(page).toContain(`looks for free workgroups (every ${LEASE_MS / 5_000} s)`);
    expect(defaults.storage.commitEvery).toBe(60_000);
  });

  test('computes with the times that it has measured', () => {
    const measured = tableOf('what');
    const find = (begin: string) => measured.find(([what]) => what!.startsWith(begin))!;
    const numberOf = (text: string | undefined) => Number(/[\d.]+/.exec(text!)![0]);
    const publication = numberOf(find('a publication with its roll-up')[1]);
    const core = Number((numberOf(find('10 messages a second')[1]) / 100).toFixed(6));
    const [, message, computed] = find('one message of it');
    expect(computed).toBe(`computed: (${core} - ${publication} / 5) / 10`);
    expect(numberOf(message)).toBeCloseTo(((core - publication / 5) / 10) * 1_000, 1);
    expect(inputs.get('publicationCpuSeconds')).toBe(publication);
    expect(inputs.get('messageCpuSeconds')! * 1_000).toBeCloseTo(numberOf(message), 6);
  });

  test('shows configurations that can be started', () => {
    const configurations = blocksOf(PAGE, 'yaml').map((text) => {
      const cwd = tempDir();
      writeFileSync(join(cwd, 'wattline.yaml'), text);
      return loadConfig({ cwd, environment: {} });
    });
    expect(configurations.map(({ queue }) => queue.backend)).toEqual(['pglite', 'redis']);
    for (const config of configurations) {
      expect(config.storage.s3?.bucket).toBe('energy');
      const roles = ['stream', 'worker', 'report'] as const;
      expect([...sharingProblems(config, roles), ...sharingWarnings(config, roles)]).toEqual([]);
      expect(config.storage.commitEvery * 4).toBeLessThanOrEqual(config.stream.retention);
    }
  });
});
