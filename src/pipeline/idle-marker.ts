import { existsSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { replaceFile, sha256Hex, syncFolder } from '../lib/durable-files.ts';
import { programVersion } from '../lib/program-version.ts';
import { readJsonFile } from '../lib/read-json-file.ts';
import { localDateOf, type UtcMs } from '../lib/time.ts';
import { type IdleNote, idleNoteSchema } from '../replica/idle-note.ts';
import { type Assignment, lakeFolder, warehousePath } from './assignment.ts';

/**
 * What the marker of a closed warehouse contains. The marker is a file next to the warehouse. While the
 * warehouse is open, there is no marker.
 */
const markerSchema = idleNoteSchema.extend({
  /** Size of the warehouse. Another file usually has another size. */
  warehouseBytes: z.number(),
});
type IdleMarker = z.infer<typeof markerSchema>;

/** The end of a stream. */
export interface StreamEnd {
  epoch: string;
  next: bigint;
}

/**
 * The note of a workgroup that has everything of its stream and nothing to do.
 * @param computedAtMs when its last roll-up began
 */
export function idleNoteOf(assignment: Assignment, end: StreamEnd, computedAtMs: UtcMs): IdleNote {
  return {
    logEpoch: end.epoch,
    nextOffset: String(end.next),
    settings: settingsHash(assignment),
    closedAtMs: computedAtMs,
  };
}

/**
 * The state of a workgroup with this note.
 * - `idle`: it still has nothing to do
 * - `due`: only time has passed, and another day has begun or has become final
 * - `behind`: there are newer messages, or the settings have changed
 * @param end the end of the stream; undefined if there is no stream yet
 */
export function stateByNote(
  note: IdleNote,
  assignment: Assignment,
  end: StreamEnd | undefined,
  nowMs: UtcMs,
): 'idle' | 'due' | 'behind' {
  const isAtEnd =
    end === undefined
      ? note.nextOffset === '0'
      : note.logEpoch === end.epoch && note.nextOffset === String(end.next);
  if (!isAtEnd || note.settings !== settingsHash(assignment)) return 'behind';
  const { workgroup, pipeline } = assignment;
  /** The day of an instant, and the first day that is not final at this instant. */
  const daysAt = (ms: UtcMs) =>
    [ms, ms - pipeline.closeAfter].map((one) => localDateOf(one, workgroup.timezone)).join();
  return daysAt(note.closedAtMs) === daysAt(nowMs) ? 'idle' : 'due';
}

/** Writes the marker of a warehouse that was closed. @param computedAtMs as in `idleNoteOf` */
export function writeIdleMarker(assignment: Assignment, end: StreamEnd, computedAtMs: UtcMs): void {
  const marker: IdleMarker = {
    ...idleNoteOf(assignment, end, computedAtMs),
    warehouseBytes: bytesOf(assignment) ?? 0,
  };
  replaceFile(markerPath(assignment), JSON.stringify(marker));
}

/** Removes the marker durably. To be called before the warehouse is opened. */
export function removeIdleMarker(assignment: Assignment): void {
  const path = markerPath(assignment);
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return;
  rmSync(path, { force: true });
  syncFolder(dirname(path));
}

/**
 * The state of a closed warehouse.
 * - `idle`: it has everything of the stream, and everything was computed and published
 * - `due`: as `idle`, but since then another day has begun or has become final
 * - `behind`: there are newer messages, it was not closed cleanly, or the settings have changed
 * - `new`: there is no warehouse, no lake and no message
 * @param end the end of the stream; undefined if there is no stream yet
 */
export function assessWarehouse(
  assignment: Assignment,
  end: (StreamEnd & { isEmpty: boolean }) | undefined,
  nowMs: UtcMs,
): 'idle' | 'due' | 'behind' | 'new' {
  const bytes = bytesOf(assignment);
  if (bytes === undefined) return hasNothing(assignment, end) ? 'new' : 'behind';
  const marker = readMarker(assignment);
  if (!marker || marker.warehouseBytes !== bytes) return 'behind';
  return stateByNote(marker, assignment, end, nowMs);
}

/** A lake without its warehouse is a fault. The opening of the workgroup reports it. */
function hasNothing(assignment: Assignment, end: (StreamEnd & { isEmpty: boolean }) | undefined): boolean {
  return (end?.isEmpty ?? true) && !existsSync(join(lakeFolder(assignment), assignment.workgroup.id));
}

function readMarker(assignment: Assignment): IdleMarker | undefined {
  return readJsonFile(markerPath(assignment), markerSchema);
}

function markerPath(assignment: Assignment): string {
  return `${warehousePath(assignment)}.idle.json`;
}

function bytesOf(assignment: Assignment): number | undefined {
  return statSync(warehousePath(assignment), { throwIfNoEntry: false })?.size;
}

function settingsHash({ workgroup, pipeline, limits, storage }: Assignment): string {
  const { hibernateAfter, openWorkgroupsMax, warehouseMemoryMegabytes, warehouseThreads, ...computing } =
    pipeline;
  const { endpoint, bucket, prefix } = storage?.s3 ?? {};
  return sha256Hex(JSON.stringify([programVersion, workgroup, computing, limits, endpoint, bucket, prefix]));
}
