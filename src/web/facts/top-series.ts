/** At most this many series of a picture have separate colours. All others are shown as one series. */
export const COLOURS = 8;
/** The series of an answer with `top` that is the sum of the others. */
export const OTHERS = 'others';
/**
 * The number of series that a large answer needs: those with separate colours, without the sum of the others.
 */
export const TOP_SERIES = COLOURS - 1;

/** The name of the other series. If the service has added them up, it does not say how many they are. */
export function othersName(others: readonly string[]): string {
  return others.includes(OTHERS) ? 'all others' : `${others.length} others`;
}
