import type { SourceKey } from './resolve-roles.ts';
import type { SourceRole } from './role.ts';

/** A role that the name of a source suggests, with the reason. */
export interface RoleSuggestion extends SourceKey {
  role: SourceRole;
  reason: string;
}

/** Names of a way of measuring, or of values that are computed. They suggest no role. */
const suggestsNothing = /^(main|total|power|energy|default|phase.*|l[123])$|self|eigen/;

/**
 * Words in the names of sources and their roles, in order of priority: charging an electric car is
 * consumption, `discharge` contains `charge`, and `solar_feed_in` goes to the grid. The first list with a
 * word of the name decides.
 */
const words: ReadonlyArray<readonly [role: SourceRole, ...words: string[]]> = [
  ['consumption', 'wallbox', 'ev', 'car', 'vehicle', 'heat_pump', 'heatpump'],
  ['battery_discharge', 'discharge', 'discharging', 'discharged', 'entladung', 'entladen'],
  ['battery_charge', 'charge', 'charging', 'charged', 'ladung', 'beladung', 'laden'],
  ['grid_export', 'export', 'exported', 'feed_in', 'feedin', 'einspeisung', '2_8_0'],
  ['grid_import', 'import', 'imported', 'bezug', 'netzbezug', 'strombezug', '1_8_0'],
  ['production', 'solar', 'pv', 'production', 'generation', 'erzeugung', 'produktion'],
  ['consumption', 'load', 'loads', 'verbrauch', 'consumption'],
];

/** A shorter word can be part of another word by chance: `downloads` contains `loads`. */
const LETTERS_WITHIN_A_WORD_MIN = 6;

/**
 * Suggests a role by the words of a name, for a person to confirm.
 * @returns undefined if the name suggests nothing
 */
export function suggestRole(source: string): Pick<RoleSuggestion, 'role' | 'reason'> | undefined {
  const name = source
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z0-9äöü]+/g, '_')
    .replace(/^_+|_+$/g, '');
  if (suggestsNothing.test(name)) return undefined;
  for (const [role, ...known] of words) {
    const word = known.find(
      (one) =>
        `_${name}_`.includes(`_${one}_`) || (one.length >= LETTERS_WITHIN_A_WORD_MIN && name.includes(one)),
    );
    if (word !== undefined) return { role, reason: `"${word.replaceAll('_', ' ')}" in its name` };
  }
  return undefined;
}
