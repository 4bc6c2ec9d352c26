import { parentPort, workerData } from 'node:worker_threads';
import { errorMessage } from '../lib/errors.ts';
import { type SheetRequest, writeXlsx } from './write-xlsx.ts';

/** The thread that makes one sheet and ends: some seconds in which nothing else of a process may have to wait. */
const failure = await writeXlsx(workerData as SheetRequest).then(() => undefined, errorMessage);
parentPort!.postMessage(failure);
