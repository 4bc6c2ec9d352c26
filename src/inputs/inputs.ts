import { isDeepStrictEqual } from 'node:util';
import type { WorkgroupConfig } from '../config/config.ts';
import { LINES_INPUT, type MqttInput } from '../config/input-settings.ts';
import type { Workgroups } from '../config/workgroups.ts';
import { errorMessage } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { repeat } from '../lib/repeat.ts';
import { type Clock, SECOND_MS } from '../lib/time.ts';
import type { StartTimer } from '../lib/timer.ts';
import type { TaskLease } from '../redis/task-lease.ts';
import type { Stream } from '../stream/stream.ts';
import { brokerAddress } from './broker-address.ts';
import { createInputCounter, type InputCounter, type InputState } from './input-counter.ts';
import { createLineReader, type LineReader } from './read-influx-line.ts';

interface InputsOptions {
  stream: Pick<Stream, 'lazyLogOf'>;
  workgroups: Pick<Workgroups, 'get' | 'list'>;
  /** One of the processes that share the logs connects to the brokers. */
  lease: TaskLease;
  clock: Clock;
  startTimer: StartTimer;
  logger: Logger;
}

/** The inputs of all workgroups. They follow the configuration. */
export interface Inputs {
  /** How a workgroup reads lines. Undefined if it has no rules for them. */
  linesOf(workgroupId: string): { read: LineReader; counter: InputCounter } | undefined;
  states(): InputState[];
  /** Stores all received messages, and disconnects. */
  stop(): Promise<void>;
}

interface RunningInput {
  workgroup: WorkgroupConfig;
  settings: MqttInput;
  counter: InputCounter;
  stop(): Promise<void>;
}

const EVERY_MS = SECOND_MS;

/** Starts the inputs of all workgroups, and follows changes of the configuration within a second. */
export function createInputs(options: InputsOptions): Inputs {
  const { stream, workgroups, lease, clock, startTimer, logger } = options;
  const running = new Map<string, RunningInput>();
  const lineReaders = new WeakMap<WorkgroupConfig, LineReader>();
  const lineCounters = new Map<string, InputCounter>();

  const wantedInputs = () =>
    new Map(
      workgroups
        .list()
        .flatMap((workgroup) =>
          (workgroup.inputs?.mqtt ?? []).map((settings) => [
            `${workgroup.id} ${settings.id}`,
            { workgroup, settings },
          ]),
        ),
    );

  async function follow(): Promise<void> {
    const configured = wantedInputs();
    if (configured.size === 0 && running.size === 0) return;
    try {
      const mayRun = await lease.acquireOrRenew();
      for (const [key, input] of running) {
        const next = mayRun ? configured.get(key) : undefined;
        if (next && isSame(input, next)) continue;
        running.delete(key);
        await input.stop();
      }
      if (mayRun)
        for (const [key, input] of configured) if (!running.has(key)) running.set(key, await start(input));
    } catch (error) {
      // Running inputs continue if it is unknown which process has the lease.
      logger.warn({ error: errorMessage(error) }, 'input.not-followed');
    }
  }

  async function start({
    workgroup,
    settings,
  }: Pick<RunningInput, 'workgroup' | 'settings'>): Promise<RunningInput> {
    // Loaded only if it is needed.
    const { startMqttInput } = await import('./mqtt-input.ts');
    const counter = createInputCounter(
      {
        workgroupId: workgroup.id,
        input: settings.id,
        kind: 'mqtt',
        address: brokerAddress(settings.url),
        connection: 'connecting',
      },
      clock,
    );
    const log = stream.lazyLogOf(workgroup.id);
    return {
      workgroup,
      settings,
      counter,
      stop: startMqttInput({ workgroup, settings, log, counter, clock, startTimer, logger }),
    };
  }

  const beginning = follow();
  const repeating = repeat(EVERY_MS, startTimer, () => beginning.then(follow));

  function linesOf(workgroupId: string) {
    const workgroup = workgroups.get(workgroupId);
    const rules = workgroup?.inputs?.lines ?? [];
    if (workgroup === undefined || rules.length === 0) return undefined;
    let read = lineReaders.get(workgroup);
    if (read === undefined) {
      read = createLineReader(workgroup, rules);
      lineReaders.set(workgroup, read);
    }
    let counter = lineCounters.get(workgroupId);
    if (counter === undefined) {
      const address = `/api/v2/write?bucket=${workgroupId}`;
      counter = createInputCounter(
        { workgroupId, input: LINES_INPUT, kind: 'lines', address, connection: 'idle' },
        clock,
      );
      lineCounters.set(workgroupId, counter);
    }
    return { read, counter };
  }

  return {
    linesOf,
    states() {
      const brokersByWorkgroup = Map.groupBy(running.values(), ({ workgroup }) => workgroup.id);
      return workgroups.list().flatMap(({ id }) => {
        const lines = linesOf(id);
        const counters = [...(brokersByWorkgroup.get(id) ?? []), ...(lines ? [lines] : [])];
        return counters.map(({ counter }) => counter.state());
      });
    },
    async stop() {
      await beginning;
      await repeating.stop();
      await Promise.all([...running.values()].map(({ stop }) => stop()));
      running.clear();
      await lease.release().catch((error: unknown) => {
        logger.warn({ error: errorMessage(error) }, 'input.claim-not-released');
      });
    },
  };
}

/** True if a changed configuration changes nothing for an input. */
function isSame(
  one: Pick<RunningInput, 'workgroup' | 'settings'>,
  other: Pick<RunningInput, 'workgroup' | 'settings'>,
): boolean {
  if (one.workgroup === other.workgroup) return true;
  return (
    isDeepStrictEqual(one.settings, other.settings) &&
    isDeepStrictEqual(one.workgroup.devices, other.workgroup.devices)
  );
}
