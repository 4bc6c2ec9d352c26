/**
 * The number of batch ids that are reserved for each import. The ids of an import are above `importId *
 * IMPORT_BATCHES_MAX`. A stream with one batch a second needs 30 years to use as many ids.
 */
export const IMPORT_BATCHES_MAX = 1_000_000_000;
