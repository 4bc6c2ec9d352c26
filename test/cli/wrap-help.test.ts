import { expect, test } from 'vitest';
import { wrapHelp } from '../../src/cli/terminal/wrap-help.ts';

const help = `
A paragraph of help is written in lines that are longer than a narrow terminal, and its
lines are joined and broken again where the terminal ends.
A line that is short
stands alone.

Sources:
  stream   what the upstream still retains, by the time at which it was stored there and by
           nothing else
  archive  short

Examples:
  wattline import "export/*.csv.gz" --workgroup home --table solar --mapping mapping.yaml`;

test('paragraphs and descriptions are wrapped at the width of the terminal, and examples are not', () => {
  expect(wrapHelp(help, 50)).toBe(`
A paragraph of help is written in lines that are
longer than a narrow terminal, and its lines are
joined and broken again where the terminal ends.
A line that is short
stands alone.

Sources:
  stream   what the upstream still retains, by the
           time at which it was stored there and
           by nothing else
  archive  short

Examples:
  wattline import "export/*.csv.gz" --workgroup home --table solar --mapping mapping.yaml`);
});

test('text that fits is not changed, and no word is lost or added at any width', () => {
  expect(wrapHelp(help, 100)).toBe(help);
  for (let columns = 1; columns < 100; columns++)
    expect(wrapHelp(help, columns).split(/\s+/)).toEqual(help.split(/\s+/));
});
