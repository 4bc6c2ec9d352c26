// Loaded before a program: its clock is that of the machine plus the milliseconds in a file, as if an operator had set it. Timers do not change.
import { readFileSync } from 'node:fs';

const file = process.env.WATTLINE_TEST_CLOCK_FILE ?? '';
const now = Date.now.bind(Date);
let shiftMs = 0;

function look(): void {
  try {
    shiftMs = Number(readFileSync(file, 'utf8'));
  } catch {
    shiftMs = 0;
  }
}
look();
setInterval(look, 50).unref();

const RealDate = Date;
class ShiftedDate extends RealDate {
  constructor(...args: []) {
    if (args.length === 0) super(now() + shiftMs);
    else super(...args);
  }
  static override now(): number {
    return now() + shiftMs;
  }
}
globalThis.Date = ShiftedDate as DateConstructor;
