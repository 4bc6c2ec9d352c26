import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { blocksOf, pages } from '../support/readme.ts';
import { rounds } from '../support/rounds.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';

const page = 'docs/corrections.md';

/** The commands of the example, each with the lines that the page shows of what it prints. */
function sessionOf(): Array<{ command: string; shown: string[] }> {
  const session: Array<{ command: string; shown: string[] }> = [];
  for (const line of blocksOf(page, 'console').flatMap((block) => block.trimEnd().split('\n'))) {
    if (line.startsWith('$ wattline '))
      session.push({ command: line.slice('$ wattline '.length), shown: [] });
    else session.at(-1)!.shown.push(line);
  }
  return session;
}

/** As a shell reads them: words, and texts in quotation marks. */
const wordsOf = (command: string) =>
  [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!);

test('the worked example prints what the page shows, in this order', {
  tags: ['slow'],
  timeout: 240_000,
}, async () => {
  const cwd = tempDir();
  // A second thread costs a fifth more of the processor with few rows.
  writeFileSync(
    join(cwd, 'wattline.yaml'),
    `${blocksOf(page, 'yaml')[0]!}pipeline: { warehouseThreads: 1 }\n`,
  );
  writeFileSync(join(cwd, 'garage.csv'), blocksOf(page, 'csv')[0]!);
  const all = sessionOf();
  expect(all.length).toBeGreaterThan(8);
  // Up to the first correction; in the soak all.
  for (const { command, shown } of all.slice(0, rounds(4, all.length))) {
    const { code, stdout, stderr } = await runCommand(wordsOf(command), { cwd });
    expect([command, code, stderr]).toEqual([command, 0, expect.anything()]);
    let from = 0;
    for (const line of shown) {
      const at = stdout.indexOf(line, from);
      expect([command, line, at >= 0 ? 'is printed' : `is not in\n${stdout}`]).toEqual([
        command,
        line,
        'is printed',
      ]);
      from = at + line.length;
    }
  }
});

test('the page names the limits as they are', async () => {
  const { correctionLimits } = await import('../../src/correction/correction-request.ts');
  const text = pages.get(page)!;
  const days = (ms: number) => `${ms / 86_400_000}`;
  expect(text).toContain(
    `at most ${days(correctionLimits.excludeMs)} days, at most ${days(correctionLimits.aheadMs)} of them in the future`,
  );
  expect(text).toContain(`at most ${days(correctionLimits.setMs)} days`);
  expect(text).toContain(`at most ${correctionLimits.countMax.toLocaleString('en')} corrections`);
});
