import { integerRange } from '../../cbor/integer-range.ts';
import type { IngestItem } from '../../contract/encode-messages.ts';
import { DEVICE_STATUS_TABLE } from '../../contract/messages.ts';
import { limits } from '../../contract/wire-limits.ts';
import { isMap, isUuid } from '../../decode/parse-values.ts';

/** A problem of one member of one item. */
export interface ItemProblem {
  index: number;
  field: string;
  reason: string;
}

type CheckedItems =
  | { kind: 'valid'; items: IngestItem[] }
  /** `problems` has the first hundred problems. `badItems` counts all bad items. */
  | { kind: 'invalid'; problems: ItemProblem[]; badItems: number };

export const PROBLEMS_LISTED_MAX = 100;

/**
 * Checks decoded items against `telemetryItemSchema` and `deviceStatusItemSchema`. It does not use zod,
 * because zod takes five times as long. A property test compares the two. There is one difference: zod drops
 * a field named `__proto__`, and this check refuses it. The check also changes device ids to lower case in
 * the items.
 * @param devices the devices that the caller may write for
 */
export function checkItems(
  items: readonly unknown[],
  table: string,
  devices: ReadonlySet<string> | 'all',
): CheckedItems {
  const problems: ItemProblem[] = [];
  let badItems = 0;
  let index = 0;
  let isBad = false;
  const report: Report = (field, reason) => {
    isBad = true;
    if (problems.length < PROBLEMS_LISTED_MAX)
      problems.push({ index, field: field.slice(0, limits.nameCharactersMax), reason });
  };
  const check = table === DEVICE_STATUS_TABLE ? checkDeviceStatus : checkTelemetry;
  for (; index < items.length; index++) {
    isBad = false;
    const item = items[index];
    if (!isMap(item)) report('', 'must be an object');
    else {
      check(item, report);
      if (devices !== 'all' && !isBad && !devices.has(item.device as string))
        report('device', 'is not a device that this token may write for');
    }
    if (isBad) badItems++;
  }
  return badItems === 0
    ? { kind: 'valid', items: items as IngestItem[] }
    : { kind: 'invalid', problems, badItems };
}

type Report = (field: string, reason: string) => void;
type Item = Record<string, unknown>;

function checkTelemetry(item: Item, report: Report): void {
  for (const key in item) {
    switch (key) {
      case 'device':
      case 'event_time':
      case 'data':
        break;
      case 'source':
        if (item[key] !== null && item[key] !== undefined) checkName(key, item[key], report);
        break;
      case 'msg_id':
        if (item[key] !== null && item[key] !== undefined)
          checkInteger(key, item[key], Number.MAX_SAFE_INTEGER, report);
        break;
      default:
        report(key, 'is not a member of a telemetry item');
    }
  }
  checkDevice(item, report);
  checkEventTime(item.event_time, report);
  checkData(item.data, report);
}

function checkDeviceStatus(item: Item, report: Report): void {
  for (const key in item) {
    switch (key) {
      case 'device':
      case 'event_time':
      case 'state':
        break;
      case 'reason':
        if (item[key] !== null && item[key] !== undefined) checkText(key, item[key], report);
        break;
      default:
        report(key, 'is not a member of a device status item');
    }
  }
  checkDevice(item, report);
  checkEventTime(item.event_time, report);
  if (item.state !== 'online' && item.state !== 'offline') report('state', 'must be "online" or "offline"');
}

function checkDevice(item: Item, report: Report): void {
  const { device } = item;
  if (isUuid(device)) item.device = device.toLowerCase();
  else report('device', 'must be a UUID');
}

function checkData(data: unknown, report: Report): void {
  if (!isMap(data)) {
    report('data', 'must be an object of fields');
    return;
  }
  let fields = 0;
  for (const field in data) {
    fields++;
    if (field.length === 0 || field.length > limits.nameCharactersMax)
      report('data', `has a field whose name is not of 1 to ${limits.nameCharactersMax} characters`);
    else if (field === '__proto__')
      report('data', 'has a field with a name that cannot be stored: "__proto__"');
    else if (!field.isWellFormed()) report('data', `has a field whose name ${hasLoneSurrogate}`);
    checkValue(field, data[field], report);
  }
  if (fields > limits.fieldsPerMessageMax)
    report('data', `must have at most ${limits.fieldsPerMessageMax} fields`);
}

/** A lone surrogate is refused. UTF-8 cannot store it, so two different names could become the same name. */
const hasLoneSurrogate = 'has a lone surrogate, which is half of a character';

function checkValue(field: string, value: unknown, report: Report): void {
  switch (typeof value) {
    case 'number':
      if (!Number.isFinite(value)) report(`data.${field}`, 'must be a finite number');
      return;
    case 'string':
      if (value.length > limits.textCharactersMax)
        report(`data.${field}`, `must be text of at most ${limits.textCharactersMax} characters`);
      else if (!value.isWellFormed()) report(`data.${field}`, hasLoneSurrogate);
      return;
    case 'boolean':
      return;
    case 'bigint':
      if (value < integerRange.least || value > integerRange.greatest)
        report(`data.${field}`, 'must be an integer of at most 64 bits');
      return;
    default:
      if (value !== null) report(`data.${field}`, 'must be a number, text, true, false or null');
  }
}

function checkName(field: string, value: unknown, report: Report): void {
  if (typeof value !== 'string' || value.length === 0 || value.length > limits.nameCharactersMax)
    report(field, `must be text of 1 to ${limits.nameCharactersMax} characters`);
  else if (!value.isWellFormed()) report(field, hasLoneSurrogate);
}

function checkText(field: string, value: unknown, report: Report): void {
  if (typeof value !== 'string' || value.length > limits.textCharactersMax)
    report(field, `must be text of at most ${limits.textCharactersMax} characters`);
  else if (!value.isWellFormed()) report(field, hasLoneSurrogate);
}

function checkEventTime(value: unknown, report: Report): void {
  if (!isInteger(value, limits.instantMsMax))
    report('event_time', `must be milliseconds since 1970, an integer from 0 to ${limits.instantMsMax}`);
}

function checkInteger(field: string, value: unknown, max: number, report: Report): void {
  if (!isInteger(value, max)) report(field, `must be an integer from 0 to ${max}`);
}

function isInteger(value: unknown, max: number): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= max;
}
