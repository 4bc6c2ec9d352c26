/** A number with separators between thousands: `12,345`. */
export function formatCount(value: number): string {
  return value.toLocaleString('en');
}

/** kWh with three decimals: `1,234.500`. */
export function formatKwh(energyWh: number): string {
  return (energyWh / 1e3).toLocaleString('en', { minimumFractionDigits: 3, maximumFractionDigits: 3 });
}
