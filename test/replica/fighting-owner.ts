// Claims a workgroup again and again without any lease, mirrors generations and collects, for a test that
// stops and kills it. Each generation adds a file to the files of the generation before. Prints which state
// it believes. Arguments: the settings of the store as JSON, a folder, a name.
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RestorableCommit } from '../../src/backup/stored-commits.ts';
import { StaleOwnerError, TransientError } from '../../src/lib/errors.ts';
import { systemClock } from '../../src/lib/time.ts';
import type { LakeFile } from '../../src/publish/commit-schema.ts';
import { fileKey, newNonce, uniqueName } from '../../src/publish/lake-layout.ts';
import { claimReplica } from '../../src/replica/claim-replica.ts';
import { openReplicaOwner } from '../../src/replica/replica-owner.ts';
import { HEAD_BYTES } from '../../src/snapshot/pack-format.ts';
import { writePack } from '../../src/snapshot/write-pack.ts';
import { createS3Store } from '../../src/storage/s3-store.ts';

const [settings = '', root = '', name = ''] = process.argv.slice(2);
const store = createS3Store(JSON.parse(settings));
/** More generations than files, so that collecting has something to do. */
const FILES_MAX = 12;

const say = (event: Record<string, unknown>) => writeSync(1, `${JSON.stringify({ name, ...event })}\n`);

for (;;) {
  try {
    await own();
  } catch (error) {
    if (error instanceof StaleOwnerError) say({ kind: 'stale' });
    else if (!(error instanceof TransientError)) throw error;
  }
  await sleep(Math.random() * 300);
}

/** Claims the workgroup, and works as its owner for some rounds. */
async function own(): Promise<void> {
  const { commit: claim } = await claimReplica(store, { workgroupId: 'acme', clock: systemClock });
  say({ kind: 'claimed', sequence: claim.sequence, nonce: claim.nonce, epoch: claim.ownerEpoch });
  const owner = await openReplicaOwner({
    store,
    claim,
    root,
    record: async () => undefined,
    clock: systemClock,
  });
  let generation = await generationAfter(claim.files, claim.totals.messages, claim.ownerEpoch);
  const rounds = 2 + Math.floor(Math.random() * 10);
  for (let round = 0; round < rounds; ) {
    try {
      await owner.mirror(generation);
    } catch (error) {
      if (error instanceof StaleOwnerError || !(error instanceof TransientError)) throw error;
      say({ kind: 'unclear' });
      continue;
    }
    const { sequence, nonce } = owner.head();
    say({
      kind: 'mirrored',
      sequence,
      nonce,
      messages: generation.totals.messages,
      epoch: String(owner.epoch),
    });
    if (round++ % 4 === 3) {
      const options = { contentMs: 3_000, keysMs: 3_600_000, unnamedMs: 1_500 };
      const collected = await owner.collect(options).catch((error: unknown) => {
        if (error instanceof TransientError) return undefined;
        throw error;
      });
      if (collected) say({ kind: 'collected', objects: collected.objects });
    }
    generation = await generationAfter(generation.files, generation.totals.messages, claim.ownerEpoch);
  }
}

/**
 * Writes a file and a pack, and returns a generation with them. Each has one message more than the one
 * before.
 */
async function generationAfter(
  files: readonly LakeFile[],
  messages: number,
  ownerEpoch: string,
): Promise<RestorableCommit> {
  const unique = uniqueName(messages + 1);
  const bytes = randomBytes(2_000);
  const file: LakeFile = {
    dataset: 'messages',
    folder: '',
    name: `${unique}.parquet`,
    period: '',
    rows: 1,
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    createdAtMs: Date.now(),
    level: 0,
  };
  write(join(root, fileKey(file)), bytes);
  const key = `snapshots/${unique}.pack`;
  const path = join(root, key);
  mkdirSync(dirname(path), { recursive: true });
  const warehouse = {
    bytes: HEAD_BYTES,
    signal: new AbortController().signal,
    read: async (target: Uint8Array) => void target.set(randomBytes(target.length)),
  };
  const { files: packs } = await writePack(warehouse, { key, newPath: () => path, previous: undefined });
  const pack = packs.at(-1)!;
  return {
    format: 2,
    workgroupId: 'acme',
    sequence: messages + 1,
    nonce: newNonce(),
    createdAtMs: Date.now(),
    ownerEpoch,
    warehouseCreatedAtMs: 1,
    batchId: '1',
    rolledUpBatchId: '1',
    checkpoints: [],
    totals: { messages: messages + 1, dailyEnergyWh: 0 },
    files: [...files, file].slice(-FILES_MAX),
    snapshot: { pack: key, bytes: pack.bytes, sha256: pack.sha256, fileBytes: HEAD_BYTES },
  };
}

function write(path: string, bytes: Buffer): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, bytes);
}
