/** A number with separators between thousands: `12,345`. */
export function formatCount(value: number): string {
  return value.toLocaleString('en');
}

/** A number with its noun: `1 row`, `12,345 rows`. */
export function formatCountOf(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** kWh with three decimals: `1,234.500`. */
export function formatKwh(energyWh: number): string {
  return (energyWh / 1e3).toLocaleString('en', { minimumFractionDigits: 3, maximumFractionDigits: 3 });
}
