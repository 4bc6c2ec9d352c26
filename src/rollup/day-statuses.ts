/**
 * If the energy of a day can still change: a provisional day can change, a final day has a closed period, and
 * a restated day has changed since it was final. `day_status` of sql/rollup/05_macros.sql decides it.
 */
export const dayStatuses = ['provisional', 'final', 'restated'] as const;
