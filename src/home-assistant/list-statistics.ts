import { unitFactor } from '../lib/units.ts';
import type { HomeAssistant } from './connect-home-assistant.ts';
import { statisticsListSchema } from './home-assistant-messages.ts';

/** Long-term statistics of Home Assistant that can be imported. */
export interface Statistic {
  id: string;
  name: string | null;
  /** energy: a sum that grows. power: a mean of each hour. */
  kind: 'energy' | 'power';
  /** Its unit in Home Assistant. */
  unit: string;
}

/** Statistics with energy or power, sorted by id. Others, such as temperatures, are left out. */
export async function listStatistics(homeAssistant: HomeAssistant): Promise<Statistic[]> {
  const all = statisticsListSchema.parse(await homeAssistant.call('recorder/list_statistic_ids', {}));
  const found = all.flatMap(
    ({
      statistic_id,
      name = null,
      has_sum,
      has_mean,
      mean_type,
      statistics_unit_of_measurement,
    }): Statistic[] => {
      const unit = statistics_unit_of_measurement ?? '';
      const hasMean = has_mean === true || (mean_type ?? 0) !== 0;
      if (has_sum && unitFactor('energy', unit) !== undefined)
        return [{ id: statistic_id, name, kind: 'energy', unit }];
      if (hasMean && unitFactor('power', unit) !== undefined)
        return [{ id: statistic_id, name, kind: 'power', unit }];
      return [];
    },
  );
  return found.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
