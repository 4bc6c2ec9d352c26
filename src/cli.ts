#!/usr/bin/env node
import { boundAllocator } from './cli/bound-allocator.ts';
import { nodeProblem } from './cli/node-version.ts';

const problem = nodeProblem(process.versions.node);
if (problem === undefined) {
  boundAllocator(process.argv.slice(2));
  // Not before: on an older Node the parts cannot even be loaded, and what that says helps nobody.
  const { main } = await import('./cli/main.ts');
  const { createTerminal } = await import('./service/terminal.ts');
  process.exitCode = await main(process.argv.slice(2), createTerminal(process));
} else {
  process.stderr.write(`wattline: ${problem}\n`);
  process.exitCode = 1;
}
