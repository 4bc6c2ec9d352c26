#!/usr/bin/env node
import { boundAllocator } from './cli/bound-allocator.ts';
import { nodeProblem } from './cli/node-version.ts';

const problem = nodeProblem(process.versions.node);
if (problem === undefined) {
  boundAllocator(process.argv.slice(2));
  // Loaded only now: an older Node cannot even load the parts, and its error message would not help.
  const { main } = await import('./cli/main.ts');
  const { createTerminal } = await import('./service/terminal.ts');
  process.exitCode = await main(process.argv.slice(2), createTerminal(process));
} else {
  process.stderr.write(`wattline: ${problem}\n`);
  process.exitCode = 1;
}
