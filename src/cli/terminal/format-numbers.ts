/** kWh with three decimals: `1,234.500`. */
export function formatKwh(energyWh: number): string {
  return (energyWh / 1e3).toLocaleString('en', { minimumFractionDigits: 3, maximumFractionDigits: 3 });
}
