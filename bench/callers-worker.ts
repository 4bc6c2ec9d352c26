import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { Pool } from 'undici';

/**
 * Asks for reports, over one connection for each caller. A caller asks again as soon as it has its answer.
 * The counts of the answers are sent to the main thread.
 */
export interface CallerCounts {
  answers: number;
  /** Answers that ask the caller to come back later. */
  refused: number;
  bytes: number;
  longestMs: number;
}

const { url, token, callers } = workerData as { url: string; token: string; callers: number };
const headers = { authorization: `Bearer ${token}` };
const year = 'startDate=2026-01-01&endDate=2026-12-31';
const paths = [
  `daily-energy?${year}&groupBy=source`,
  `budget-data?${year}`,
  `meter-data?${year}&timezone=Europe/Paris`,
];
const pool = new Pool(url, { connections: callers, headersTimeout: 0, bodyTimeout: 0 });
const counts: CallerCounts = { answers: 0, refused: 0, bytes: 0, longestMs: 0 };

await Promise.all(Array.from({ length: callers }, (_, index) => call(index)));

async function call(first: number): Promise<never> {
  for (let number = first; ; number++) {
    const startMs = performance.now();
    const path = `/api/v1/orgs/bench/${paths[number % paths.length]}`;
    const { statusCode, body } = await pool.request({ method: 'GET', path, headers });
    for await (const chunk of body) counts.bytes += (chunk as Buffer).length;
    counts.longestMs = Math.max(counts.longestMs, performance.now() - startMs);
    if (statusCode === 200) counts.answers += 1;
    else if (statusCode === 503) counts.refused += 1;
    else throw new Error(`${path} was answered with ${statusCode}`);
    parentPort!.postMessage(counts);
    if (statusCode === 503) await sleep(1_000);
  }
}
