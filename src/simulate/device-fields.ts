import type { TelemetryItem } from '../contract/messages.ts';
import { HOUR_MS, type UtcMs } from '../lib/time.ts';
import type { SeriesDay } from './model-day.ts';
import { BATTERY_CAPACITY_WH } from './modelled-power.ts';
import { smoothNoise } from './noise.ts';
import type { SitePlan } from './plan-site.ts';

/** The fields of a device in one reading: its registers and other values. */
export function fieldsOf(
  plan: SitePlan,
  series: SeriesDay,
  index: number,
  registers: { registerWh: number; todayWh: number },
): TelemetryItem['data'] {
  const timeMs = series.timesMs[index]!;
  const powerW = Math.round(series.powerW[index]!);
  const vary = varying(plan, series, timeMs);
  const voltageV = vary(1, 226, 238, 1);
  switch (series.device.kind) {
    case 'inverter':
      return {
        total_wh: registers.registerWh,
        today_wh: registers.todayWh,
        power_w: powerW,
        voltage_v: voltageV,
        current_a: round(powerW / voltageV, 2),
        frequency_hz: vary(2, 49.95, 50.05, 3),
        panel_voltage_v: vary(3, 310, 420, 1),
        panel_current_a: round((powerW * 1.03) / 365, 2),
        temperature_c: round(18 + powerW / 300 + vary(4, 0, 6, 1), 1),
        efficiency_percent: vary(5, 95.5, 98.4, 2),
        mode: powerW > 0.9 * series.source.peakW ? 'derated' : 'normal',
        firmware: 'SIM-2.4.1',
      };
    case 'battery':
      return {
        register_wh: registers.registerWh,
        power_w: powerW,
        charge_percent: round((100 * (series.storedWh[index] ?? 0)) / BATTERY_CAPACITY_WH, 1),
        health_percent: 97,
        voltage_v: vary(1, 49.5, 53.2, 2),
        current_a: round(powerW / 51.2, 2),
        temperature_c: vary(4, 19, 27, 1),
        cell_voltage_min_v: vary(6, 3.1, 3.2, 3),
        cell_voltage_max_v: vary(7, 3.25, 3.35, 3),
        cycles: 412,
        state: powerW > 0 ? 'active' : 'idle',
      };
    case 'meter':
      return {
        register_wh: registers.registerWh,
        power_w: powerW,
        voltage_l1_v: voltageV,
        voltage_l2_v: vary(6, 226, 238, 1),
        voltage_l3_v: vary(7, 226, 238, 1),
        current_l1_a: round(powerW / 3 / voltageV, 2),
        current_l2_a: round(powerW / 3 / 231, 2),
        current_l3_a: round(powerW / 3 / 233, 2),
        frequency_hz: vary(2, 49.95, 50.05, 3),
        power_factor: vary(8, 0.93, 1, 3),
        tariff: timeMs - series.timesMs[0]! < 6 * HOUR_MS ? 'low' : 'high',
      };
    default:
      return series.device.kind satisfies never;
  }
}

/** Values that vary between two bounds, differently for each field of each series. */
function varying(plan: SitePlan, series: SeriesDay, timeMs: UtcMs) {
  const seriesNumber = series.device.index * 16 + series.device.sources.indexOf(series.source);
  return (field: number, low: number, high: number, digits: number): number =>
    round(
      low + (high - low) * smoothNoise(plan.seed, 1_000 + seriesNumber * 16 + field, timeMs, 600_000),
      digits,
    );
}

function round(value: number, digits: number): number {
  const scale = 10 ** digits;
  return Math.round(value * scale) / scale;
}
