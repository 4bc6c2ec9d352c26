import { Session } from 'node:inspector/promises';

interface TraceEvent {
  name: string;
  /** `B` at the begin of a call. */
  ph: string;
}

/**
 * Runs work of this process.
 * @returns the calls that waited for the file system meanwhile, for example `fs.sync.stat`
 */
export async function syncFileCalls(work: () => Promise<void>): Promise<string[]> {
  const events: TraceEvent[] = [];
  const session = new Session();
  session.connect();
  session.on('NodeTracing.dataCollected', ({ params }) => {
    events.push(...(params.value as unknown as TraceEvent[]));
  });
  await session.post('NodeTracing.start', { traceConfig: { includedCategories: ['node.fs.sync'] } });
  await work();
  await session.post('NodeTracing.stop');
  session.disconnect();
  return events.filter(({ ph }) => ph === 'B').map(({ name }) => name);
}
