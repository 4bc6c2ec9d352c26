/** Times in ms. The page loads no code of the server, so it has constants of its own. */
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
/** Energy is stored by quarters of an hour. */
export const INTERVAL_MS = 15 * MINUTE_MS;
