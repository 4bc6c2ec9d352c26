// @module-tag slow
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Clock, DAY_MS, systemClock } from '../../src/lib/time.ts';
import { claimReplica } from '../../src/replica/claim-replica.ts';
import { readReplicaCommit, readReplicaHead } from '../../src/replica/replica-commit.ts';
import { rollBackReplica } from '../../src/replica/roll-back-replica.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { createS3Store } from '../../src/storage/s3-store.ts';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { type Fate, startLossyProxy } from '../support/lossy-proxy.ts';
import { isSoak } from '../support/rounds.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { entriesOf, keysOf, machine, work } from './replica-fixture.ts';

describe.skipIf(s3Missing)('mirroring over a network', () => {
  /** A store behind a proxy. The proxy notes all PUTs, and `fateOf` chooses what happens to one. */
  async function proxied() {
    const settings = await s3ForTests();
    const puts: string[] = [];
    const network = { puts, lists: 0, fateOf: (_path: string): Fate => 'pass' };
    const endpoint = await startLossyProxy(settings.endpoint, ({ method, path }) => {
      if (path.includes('list-type')) network.lists += 1;
      if (method !== 'PUT') return 'pass';
      puts.push(path);
      return network.fateOf(path);
    });
    const store = createS3Store({ ...settings, endpoint });
    return { network, store, direct: createS3Store(settings) };
  }

  test('a commit costs a few PUTs, and one without changes none', async () => {
    const { network, store } = await proxied();
    const a = await work(machine(), store);
    expect(network.puts.splice(0)).toHaveLength(1);
    await a.owner.mirror(await a.grow(50));
    network.puts.splice(0);
    const generation = await a.grow(50);
    expect(await a.owner.mirror(generation)).toMatchObject({ kind: 'mirrored' });
    // The last two are the pack and the commit.
    expect(network.puts.length).toBeLessThanOrEqual(6);
    expect(network.puts.at(-1)).toContain('/commits/000000000003.json');
    expect(network.puts.filter((path) => path.includes('/snapshots/'))).toHaveLength(1);
    network.puts.splice(0);
    expect(await a.owner.mirror(generation)).toEqual({ kind: 'unchanged', sequence: 3 });
    expect(await a.owner.mirror(await a.snapshot())).toEqual({ kind: 'unchanged', sequence: 3 });
    expect(network.puts).toEqual([]);
  });

  test('a commit is found by its nonce if its answers are lost, and later commits follow it', async () => {
    const { network, store, direct } = await proxied();
    const a = await work(machine(), store);
    network.fateOf = (path) => (path.includes('/commits/') ? 'lose' : 'pass');
    const first = await a.grow();
    await expect(a.owner.mirror(first)).rejects.toMatchObject({
      code: 'StorageUnreachable',
      retryable: true,
    });
    expect(a.owner.head().sequence).toBe(1);
    // The last PUT of the first commit arrives although its answer is lost. The next call has a later
    // generation.
    let sent = 0;
    network.fateOf = (path) => (path.includes('/commits/') && sent++ === 0 ? 'drop-answer' : 'pass');
    const second = await a.grow();
    expect(await a.owner.mirror(second)).toMatchObject({ kind: 'mirrored', sequence: 3 });
    expect((await readReplicaCommit(direct, 2))?.generation?.nonce).toBe(first.nonce);
    expect((await readReplicaCommit(direct, 3))?.generation?.nonce).toBe(second.nonce);
  });

  test('an owner that has nothing to commit looks for other owners with one list', async () => {
    const { network, store, direct } = await proxied();
    const a = await work(machine(), store);
    await a.owner.mirror(await a.grow());
    network.lists = network.puts.length = 0;
    await a.owner.look();
    await a.owner.look();
    expect([network.lists, network.puts]).toEqual([2, []]);
    const head = await readReplicaHead(direct);
    await rollBackReplica(direct, head, (await readReplicaCommit(direct, 2))!);
    await expect(a.owner.look()).rejects.toMatchObject({ code: 'StaleOwner' });
    await expect(a.owner.mirror(await a.grow())).rejects.toMatchObject({ code: 'StaleOwner' });
    // Without another request the owner knows that it is over.
    expect([network.lists, network.puts]).toEqual([3, []]);
  });

  test('an upload that fails leaves no commit, and is not repeated for what has arrived', async () => {
    const { network, store, direct } = await proxied();
    const a = await work(machine(), store);
    const generation = await a.grow();
    network.fateOf = (path) => (path.includes('/snapshots/') ? 'lose' : 'pass');
    network.puts.splice(0);
    await expect(a.owner.mirror(generation)).rejects.toMatchObject({ code: 'StorageUnreachable' });
    expect(await readReplicaHead(direct)).toMatchObject({ sequence: 1, generation: null });
    network.fateOf = () => 'pass';
    const before = network.puts.splice(0);
    expect(await a.owner.mirror(generation)).toMatchObject({ kind: 'mirrored', sequence: 2 });
    const repeated = network.puts.filter((path) => before.includes(path));
    expect(repeated.every((path) => path.includes('/snapshots/'))).toBe(true);
  });

  test.runIf(isSoak)('a machine that ends during a commit continues with its own warehouse', async () => {
    const { network, store, direct } = await proxied();
    const own = machine();
    const a = await work(own, store);
    await a.owner.mirror(await a.grow());
    const leaving = new AbortController();
    network.fateOf = (path) => {
      if (!path.includes('/commits/')) return 'pass';
      leaving.abort();
      return 'late';
    };
    const generation = await a.grow();
    await expect(a.owner.mirror(generation, leaving.signal)).rejects.toThrow();
    await a.shard.close();
    network.fateOf = () => 'pass';
    await until('the commit has arrived', async () => (await readReplicaHead(direct))?.sequence === 3);
    const b = await work(own, store);
    expect(b.taken).toMatchObject({ warehouse: 'local', claim: { sequence: 4 } });
    expect(await b.owner.mirror(generation)).toEqual({ kind: 'unchanged', sequence: 4 });
  });
});

test('a file that was deleted meanwhile is a reason to try again with a later generation', async () => {
  const store = createFolderStore(join(tempDir(), 'store'));
  const on = machine();
  const a = await work(on, store);
  const generation = await a.grow();
  const missing = { ...generation, files: [{ ...generation.files[0]!, name: '000000000009-0.parquet' }] };
  await expect(a.owner.mirror(missing)).rejects.toMatchObject({ code: 'LakeChanged', retryable: true });
  expect(await a.owner.mirror(generation)).toMatchObject({ kind: 'mirrored', sequence: 2 });
  expect(await keysOf(store, 'commits/')).toHaveLength(2);
  expect(entriesOf(on.root)).not.toContain('staging.part');
});

test('a generation of a later owner of the warehouse is refused', async () => {
  const store = createFolderStore(join(tempDir(), 'store'));
  const a = await work(machine(), store);
  const generation = { ...(await a.grow()), ownerEpoch: '2' };
  await expect(a.owner.mirror(generation)).rejects.toMatchObject({ code: 'StaleOwner' });
  expect(await keysOf(store, 'files/')).toEqual([]);
});

test('a process that was stopped until the keys of later commits were deleted creates nothing that counts', async () => {
  const store = createFolderStore(join(tempDir(), 'store'));
  let passedMs = 0;
  const clock: Clock = { now: () => systemClock.now() + passedMs };
  const a = await work(machine(), store, clock);
  await a.owner.mirror(await a.grow());
  const claims: string[] = [];
  for (let claim = 0; claim < 3; claim++) {
    const { commit } = await claimReplica(store, { workgroupId: WORKGROUP, clock });
    claims.push(`commits/${String(commit.sequence).padStart(12, '0')}.json`);
  }
  for (const key of claims.slice(0, 2)) await store.remove(key);
  passedMs = 8 * DAY_MS;
  await expect(a.owner.mirror(await a.grow())).rejects.toMatchObject({
    code: 'StaleOwner',
    details: { currentEpoch: '4' },
  });
  expect((await readReplicaHead(store))?.ownerEpoch).toBe('4');
});
