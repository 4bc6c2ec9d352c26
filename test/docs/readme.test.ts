import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { describeDemo, describeStart } from '../../src/cli/demo/demo-view.ts';
import type { Site } from '../../src/simulate/create-site.ts';
import { loadConfig } from '../support/load-config.ts';
import {
  blocksOf,
  headingLinksOf,
  headingsOf,
  linksOf,
  pages,
  readmeBlocks,
  repositoryRoot,
} from '../support/readme.ts';
import { isSoak } from '../support/rounds.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';

describe('the README and the pages of docs/', () => {
  test('have lines of at most 190 characters, apart from tables and examples', () => {
    for (const [path, text] of pages) {
      const lines = text.replace(/```.*?```/gs, '').split('\n');
      expect(
        lines.filter((line) => line.length > 190 && !line.startsWith('|')),
        path,
      ).toEqual([]);
    }
  });

  test('shows configurations that are valid', () => {
    const configurations = readmeBlocks('yaml');
    expect(configurations.length).toBeGreaterThanOrEqual(2);
    for (const text of configurations) {
      const cwd = tempDir();
      const [, file = 'wattline.yaml'] = /^# (workgroups\.d\/\S+)\n/.exec(text) ?? [];
      mkdirSync(join(cwd, 'workgroups.d'));
      writeFileSync(join(cwd, file), text);
      for (const [, name] of text.matchAll(/^[^#\n]*\{ file: ([\w.-]+) \}/gm))
        writeFileSync(join(cwd, name!), 'a text');
      expect(loadConfig({ cwd, environment: {} }).workgroups[0]!.id).toMatch(/^(home|plant-7)$/);
    }
  });

  test('shows the defaults as they are', () => {
    const cwd = tempDir();
    const text = readmeBlocks('yaml').find((block) => block.includes('requestsPerMinute:'))!;
    writeFileSync(join(cwd, 'wattline.yaml'), text);
    const { workgroups: _shown, ...shown } = loadConfig({ cwd, environment: {} });
    const { workgroups: _none, ...defaults } = loadConfig({
      cwd: tempDir(),
      environment: { WATTLINE_DATA_DIR: shown.dataDir },
    });
    expect(shown).toEqual(defaults);
    const names = [defaults, loadConfig({ cwd, environment: {} }).workgroups[0]!].flatMap(namesOf);
    expect(names.length).toBeGreaterThan(60);
    const told = `${text}\n${pages.get('docs/alerts.md')}`;
    expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(told))).toEqual([]);
  });

  test('shows the output of the demo in its words', () => {
    const shown = blocksOf('README.md', 'text').find((block) => block.startsWith('Wattline demo'))!;
    const names = ['inverter 1', 'grid meter', 'battery', 'inverter 2', 'inverter 3', 'inverter 4'];
    const start = describeStart({
      url: 'http://127.0.0.1:8080',
      token: 'eyJhbGciOi...',
      dataDir: '',
      workgroup: 'demo',
      site: { devices: names.map((name) => ({ name })), timezone: 'UTC' } as Site,
    });
    const lines = shown.trimEnd().split('\n');
    expect(start.split('\n')).toEqual(expect.arrayContaining(lines.slice(0, 4)));
    const day = { series: 9, different: [] };
    const summary = describeDemo({
      seconds: 36.2,
      sent: 21_590,
      landed: 21_590,
      generation: 7,
      days: [
        { ...day, day: '2026-11-20', reportedWh: 128_834, generatedWh: 128_834 },
        { ...day, day: '2026-11-21', reportedWh: 110_182, generatedWh: 110_182 },
      ],
    });
    expect(shown.trimEnd().endsWith(summary.trim())).toBe(true);
    expect(describeDemo({ seconds: 1, sent: 1, landed: 1, generation: 1, days: [] })).toContain(
      '\n1 message sent and 1 landed in 1 s, 1 generation published.\n',
    );
  });

  // energy.test.ts replays its case, and cli/replay-cases.test.ts reads cases.
  test.runIf(isSoak)('shows a replay case that replays', async () => {
    const cwd = tempDir();
    writeFileSync(join(cwd, 'my-cases.json'), blocksOf('docs/import-and-backfill.md', 'json')[0]!);
    const { code, stdout } = await runCommand(['replay', 'my-cases.json', '--json'], { cwd });
    expect(code).toBe(0);
    const { days } = JSON.parse(stdout)['my-inverter'];
    expect(Object.values(days['2026-06-01'])).toEqual([21_500]);
  });

  test.each([...pages.keys()])('%s links to files that exist', (page) => {
    for (const path of linksOf(page))
      expect([path, existsSync(join(repositoryRoot, path))]).toEqual([path, true]);
  });

  test.each([...pages.keys()])('%s links to headings that exist', (page) => {
    for (const link of headingLinksOf(page)) {
      const [path, heading] = link.split('#');
      expect([link, headingsOf(path!)]).toEqual([link, expect.arrayContaining([heading])]);
    }
  });

  test('the README is short', () => {
    expect(pages.get('README.md')!.trimEnd().split('\n').length).toBeLessThanOrEqual(120);
  });

  test('every page can be reached from the README, and is in the package', () => {
    const linked = new Set(linksOf('README.md'));
    expect([...pages.keys()].filter((page) => page !== 'README.md' && !linked.has(page))).toEqual([]);
    const { files } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8'));
    expect(files).toContain('docs');
  });

  test('commands that are shown exist', async () => {
    const { stdout } = await runCommand(['--help'], { cwd: tempDir() });
    const commands = new Set([...stdout.matchAll(/^ {2}([a-z][a-z-]+)/gm)].map(([, name]) => name!));
    const shown = [...pages.values()].flatMap((text) => [
      ...text.matchAll(/(?:^npm run -s wattline --|`wattline) ([a-z][a-z-]+)/gm),
    ]);
    expect(shown.length).toBeGreaterThan(10);
    expect(shown.map(([, name]) => name!).filter((name) => !commands.has(name))).toEqual([]);
  });
});

/** The names of all settings of an object, also of objects in it. */
function namesOf(settings: object): string[] {
  return Object.entries(settings).flatMap(([name, value]) => [
    name,
    ...(value !== null && typeof value === 'object' && !Array.isArray(value) ? namesOf(value) : []),
  ]);
}
