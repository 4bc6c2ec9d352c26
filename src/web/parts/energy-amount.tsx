import { energyUnit, exactEnergy, formatEnergy, type Unit } from '../words/number-words.ts';

/**
 * Energy in a unit that fits its size, with the exact Wh on hover. Null is a dash, because it is not zero.
 */
export function EnergyAmount({ wh, unit }: { wh: number | null | undefined; unit?: Unit }) {
  if (wh == null)
    return (
      <span class="amount none" title="not known">
        –
      </span>
    );
  return (
    <data class="amount" value={wh} title={exactEnergy(wh)}>
      {formatEnergy(wh, unit ?? energyUnit(wh))}
    </data>
  );
}
