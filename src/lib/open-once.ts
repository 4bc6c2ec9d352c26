/** Something that is opened at its first use and then kept. */
interface OpenOnce<Opened> {
  /**
   * Opens it if it is not open yet. A failure is not kept, so the next call tries again.
   * @throws as the opening does
   */
  get(): Promise<Opened>;
  /** Waits for an opening that is under way. @returns undefined if it is not open */
  ifOpened(): Promise<Opened | undefined>;
}

export function openOnce<Opened>(open: () => Promise<Opened>): OpenOnce<Opened> {
  let opening: Promise<Opened> | undefined;
  return {
    get() {
      opening ??= open().catch((error: unknown) => {
        opening = undefined;
        throw error;
      });
      return opening;
    },
    ifOpened: async () => opening?.catch(() => undefined),
  };
}
