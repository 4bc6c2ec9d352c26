/**
 * Ids of batches that are reserved for each import: `importId * IMPORT_BATCHES_MAX` is below the first one. A
 * stream with one batch a second needs 30 years for as many.
 */
export const IMPORT_BATCHES_MAX = 1_000_000_000;
