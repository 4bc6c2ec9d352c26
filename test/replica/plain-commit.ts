import type { ReplicaCommit } from '../../src/replica/replica-commit.ts';
import { TEST_START_MS } from '../support/test-clock.ts';

const HASH = '0'.repeat(64);
export const packKey = (name: number) => `snapshots/00000000000${name}-0.pack`;
const fileName = (name: number) => `00000000000${name}-0.parquet`;
export const fileKeyOf = (name: number) => `files/messages/${fileName(name)}`;

/** A commit that needs one pack and one file. */
export function commitOf(sequence: number, needs: number): ReplicaCommit {
  const nonce = String(sequence).padStart(32, '0');
  const pack = { bytes: 1, sha256: HASH };
  return {
    format: 2,
    workgroupId: 'acme',
    sequence,
    createdAtMs: TEST_START_MS,
    ownerEpoch: '1',
    warehouseCreatedAtMs: TEST_START_MS,
    batchId: '1',
    rolledUpBatchId: '1',
    checkpoints: [],
    totals: { messages: 0, dailyEnergyWh: 0 },
    files: [
      {
        dataset: 'messages',
        folder: '',
        name: fileName(needs),
        period: '',
        rows: 1,
        bytes: 1,
        sha256: HASH,
        createdAtMs: TEST_START_MS,
        level: 0,
      },
    ],
    nonce,
    previousNonce: null,
    snapshot: { pack: packKey(needs), ...pack, fileBytes: 1 },
    generation: { sequence, nonce, packs: [{ key: packKey(needs), ...pack }] },
  };
}
