import { parentPort, workerData } from 'node:worker_threads';
import { errorMessage } from '../lib/errors.ts';
import { type SheetRequest, writeXlsx } from './write-xlsx.ts';

/** The thread that makes one sheet and ends. It takes some seconds, which would block the process. */
const failure = await writeXlsx(workerData as SheetRequest).then(() => undefined, errorMessage);
parentPort!.postMessage(failure);
