import { balanceViews } from './balance-views.ts';
import { declaredDeviceViews } from './declared-device-views.ts';
import { energyViews } from './energy-views.ts';
import type { View } from './lake-view.ts';
import { messageViews } from './message-views.ts';
import { meterViews } from './meter-views.ts';

/** All views of `analytics.duckdb`. */
export const analyticsViews: readonly View[] = [
  ...messageViews,
  ...energyViews,
  ...declaredDeviceViews,
  ...balanceViews,
  ...meterViews,
];
