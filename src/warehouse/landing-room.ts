/** The maximum number of batches in memory: one group waits while the group before is written. */
const HELD_MAX = 2;

/**
 * Limits how many batches are in memory. It also holds back decoding while the statements of a transaction
 * run, until its COMMIT.
 */
export interface LandingRoom {
  /** Waits until another batch may be decoded. */
  wait(): Promise<void>;
  /** Takes the place of one batch. */
  take(): void;
  /** Notes that a transaction begins. Until `giveBack`, decoding would delay each of its statements. */
  beginTransaction(): void;
  /** Gives the places of batches back, at COMMIT of their transaction or when they have failed. */
  giveBack(batches: number): void;
}

export function createLandingRoom(): LandingRoom {
  let held = 0;
  let isBeginning = false;
  let onRoom: (() => void) | undefined;
  return {
    async wait() {
      while (held >= HELD_MAX || isBeginning) {
        await new Promise<void>((resolve) => {
          onRoom = resolve;
        });
      }
    },
    take() {
      held++;
    },
    beginTransaction() {
      isBeginning = true;
    },
    giveBack(batches) {
      isBeginning = false;
      held -= batches;
      onRoom?.();
    },
  };
}
