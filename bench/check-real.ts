// Replays recordings of real meters and compares the energy with what is known of it: npm run check:real --
// <folder>
import { createTerminal } from '../src/service/terminal.ts';
import { checkRecordings } from './check-real/check-recordings.ts';

process.exitCode = await checkRecordings(process.argv.slice(2), createTerminal(process));
