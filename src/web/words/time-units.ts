/** Times in ms. The page loads no code of the server, so it cannot use the constants there. */
export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
/** Energy is stored by quarters of an hour. */
export const intervalMs = 15 * minuteMs;
