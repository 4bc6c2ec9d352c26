import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { fileKey } from '../../src/publish/lake-layout.ts';
import {
  listReplicaCommits,
  objectKeys,
  type ReplicaCommit,
  readReplicaCommit,
} from '../../src/replica/replica-commit.ts';
import { packObject } from '../../src/snapshot/take-snapshot.ts';
import { unpack } from '../../src/snapshot/unpack.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { createS3Store, type S3Settings } from '../../src/storage/s3-store.ts';
import { type Fate, startLossyProxy } from '../support/lossy-proxy.ts';
import { rounds } from '../support/rounds.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';

const OWNERS = 4;
/** Owners that are killed or stopped. Lost and late answers of the bucket come on top. */
const FAULTS = rounds(30, 900);
/** Most PUTs pass. */
const FATES: Fate[] = ['lose', 'drop-answer', 'late', 'status-after', 'hang'];

interface Said {
  kind: 'claimed' | 'mirrored' | 'stale' | 'unclear' | 'collected';
  name: string;
  sequence: number;
  nonce: string;
  messages: number;
  epoch: string;
  objects: number;
}

test.skipIf(s3Missing)(
  'owners that fight for a workgroup without a lease never both own it, and lose and double nothing',
  { timeout: FAULTS * 1_000 + 240_000 },
  async () => {
    const settings = await s3ForTests();
    const store = createS3Store(settings);
    const said = await fight(settings);
    const commits = await readAll(store);
    checkChain(commits);
    const bySequence = new Map(commits.map((commit) => [commit.sequence, commit]));
    for (const one of said.filter(({ kind }) => kind === 'claimed' || kind === 'mirrored')) {
      const commit = bySequence.get(one.sequence);
      expect(commit, `${one.kind} ${one.sequence} by ${one.name}`).toMatchObject({
        nonce: one.nonce,
        ownerEpoch: one.epoch,
        ...(one.kind === 'mirrored' && { totals: { messages: one.messages } }),
      });
    }
    const claims = said.filter(({ kind }) => kind === 'claimed');
    expect(new Set(claims.map(({ epoch }) => epoch)).size).toBe(claims.length);
    await checkContent(store, commits.at(-1)!);
  },
);

/** True if owners took the workgroup from each other, copied it, and deleted what nobody needs. */
function wasFought(said: readonly Said[]): boolean {
  const count = (kind: Said['kind']) => said.filter((one) => one.kind === kind).length;
  const collected = said.some(({ kind, objects }) => kind === 'collected' && objects > 0);
  return count('mirrored') > 5 && count('claimed') > 10 && count('stale') > 3 && collected;
}

/**
 * Lets owners fight: behind a network that loses and delays, stopped, continued and killed at random.
 * @returns what they said
 */
async function fight(settings: S3Settings): Promise<Said[]> {
  const endpoint = await startLossyProxy(settings.endpoint, ({ method }) =>
    method === 'PUT' && Math.random() < 0.12 ? FATES[Math.floor(Math.random() * FATES.length)]! : 'pass',
  );
  const timeouts = { silenceMs: 400, requestMs: 400 };
  const argument = JSON.stringify({ ...settings, endpoint, timeouts });
  const said: Said[] = [];
  const failures: string[] = [];
  let isOver = false;
  const root = tempDir();

  function start(index: number): ChildProcess {
    const script = join(import.meta.dirname, 'fighting-owner.ts');
    const folder = join(root, String(index));
    const child = spawn(process.execPath, [script, argument, folder, `owner ${index}`], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    createInterface({ input: child.stdout! }).on('line', (line) => said.push(JSON.parse(line)));
    child.stderr!.setEncoding('utf8').on('data', (text: string) => failures.push(text));
    child.once('exit', (code) => {
      if (code !== null && !isOver) failures.push(`owner ${index} has ended with ${code}`);
    });
    return child;
  }

  const owners = Array.from({ length: OWNERS }, (_, index) => start(index));
  for (let faults = 0; (faults < FAULTS || !wasFought(said)) && failures.length === 0; faults++) {
    await sleep(Math.random() * 400);
    const index = Math.floor(Math.random() * OWNERS);
    const owner = owners[index]!;
    if (Math.random() < 0.2) {
      const ended = once(owner, 'exit');
      owner.kill('SIGKILL');
      await ended;
      owners[index] = start(index);
    } else {
      owner.kill('SIGSTOP');
      setTimeout(() => owner.kill('SIGCONT'), Math.random() * 4_000).unref();
    }
  }
  isOver = true;
  for (const owner of owners) {
    const ended = once(owner, 'close');
    owner.kill('SIGKILL');
    await ended;
  }
  expect(failures).toEqual([]);
  return said;
}

async function readAll(store: ObjectStore): Promise<ReplicaCommit[]> {
  const commits: ReplicaCommit[] = [];
  for await (const { sequence } of listReplicaCommits(store, 0))
    commits.push((await readReplicaCommit(store, sequence))!);
  return commits;
}

/**
 * Each commit follows the one before: a claim with its content and the next epoch, or its owner's next
 * generation.
 */
function checkChain(commits: readonly ReplicaCommit[]): void {
  let before: ReplicaCommit | undefined;
  for (const commit of commits) {
    expect(commit.sequence).toBe((before?.sequence ?? 0) + 1);
    expect(commit.previousNonce).toBe(before?.nonce ?? null);
    const { messages } = commit.totals;
    if (BigInt(commit.ownerEpoch) === BigInt(before?.ownerEpoch ?? 0)) {
      expect(messages).toBe(before!.totals.messages + 1);
      const old = new Set(before!.files.map(({ name }) => name));
      expect(commit.files.filter(({ name }) => !old.has(name))).toHaveLength(1);
    } else {
      expect(BigInt(commit.ownerEpoch)).toBe(BigInt(before?.ownerEpoch ?? 0) + 1n);
      expect(messages).toBe(before?.totals.messages ?? 0);
      expect(commit.files).toEqual(before?.files ?? []);
      expect(commit.generation).toEqual(before?.generation ?? null);
    }
    before = commit;
  }
}

/** All that the newest commit names is in the store. */
async function checkContent(store: ObjectStore, head: ReplicaCommit): Promise<void> {
  for (const file of head.files) {
    const bytes = await store.get(fileKey(file));
    expect(bytes && createHash('sha256').update(bytes).digest('hex'), fileKey(file)).toBe(file.sha256);
  }
  await unpack(store, { pack: packObject(head.snapshot!), fileBytes: head.snapshot!.fileBytes });
  expect(objectKeys(head).length).toBe(head.files.length + 1);
}
