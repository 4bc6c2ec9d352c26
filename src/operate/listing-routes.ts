import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Authorization } from '../access/authorize.ts';
import type { WorkgroupConfig } from '../config/config.ts';
import { rejectOtherMethods } from '../http/http-server.ts';
import { tagged } from '../http/send-tagged.ts';
import { formatInstantOrNull } from '../lib/time.ts';
import { addressSchema } from '../report/day-request.ts';
import { readDeviceStates } from '../report/device-states.ts';
import type { LakeReader } from '../report/lake/lake-reader.ts';
import { visibleMeters } from '../report/meter-request.ts';
import { readSources } from '../report/read-sources.ts';
import { formatShape } from '../report/rows/row-format.ts';
import { visibleSites } from '../report/visible-sites.ts';
import { createRoleResolver } from '../roles/resolve-roles.ts';
import { deviceListSchema, meterListSchema, siteListSchema } from './listing-schemas.ts';
import { type OperatorGuard, operatorErrors } from './operator-guard.ts';
import { type ListRows, sendList } from './send-list.ts';

const root = '/api/v1/orgs/:workgroupId';

type Visible = Pick<Authorization, 'devices'>;
type ListedDevice = z.output<typeof deviceListSchema>['devices'][number];
type ListedSite = z.output<typeof siteListSchema>['sites'][number];
type ListedMeter = z.output<typeof meterListSchema>['meters'][number];
type ListedSource = ListedDevice['sources'][number];

/** Devices, sites and meters that a token can see. */
export function registerListingRoutes(
  app: FastifyInstance,
  { guard, lake }: { guard: OperatorGuard; lake: LakeReader },
): void {
  app.get(
    `${root}/devices`,
    {
      attachValidation: true,
      schema: {
        summary: 'Devices',
        description:
          'Configured devices and ones with messages: names, states, sites, meters, and sources with their roles. Rows are those of each source and role.',
        tags: ['operate'],
        params: addressSchema,
        querystring: z.object(formatShape),
        response: tagged(deviceListSchema, operatorErrors),
      },
    },
    async (request, reply) => {
      const { workgroup, devices: visible } = guard(request, ['search:read'], { whole: false });
      const devices = await listDevices(lake, workgroup, { devices: visible });
      return sendList(request, reply, lake, { devices }, deviceRows(devices));
    },
  );
  rejectOtherMethods(app, `${root}/devices`, ['GET']);
  const lists = [
    {
      path: 'sites',
      summary: 'Sites',
      description: 'Sites with their meters and devices.',
      answer: siteListSchema,
      read(workgroup: WorkgroupConfig, visible: Visible) {
        const sites = listSites(workgroup, visible);
        return { answer: { sites }, rows: siteRows(sites) };
      },
    },
    {
      path: 'meters',
      summary: 'Meters',
      description: 'Meters with their devices and sites.',
      answer: meterListSchema,
      read(workgroup: WorkgroupConfig, visible: Visible) {
        const meters = listMeters(workgroup, visible);
        return { answer: { meters }, rows: meterRows(meters) };
      },
    },
  ];
  for (const { path, summary, description, answer, read } of lists) {
    const url = `${root}/${path}`;
    app.get(
      url,
      {
        attachValidation: true,
        schema: {
          summary,
          description,
          tags: ['operate'],
          params: addressSchema,
          querystring: z.object(formatShape),
          response: tagged(answer, operatorErrors),
        },
      },
      async (request, reply) => {
        const { workgroup, devices } = guard(request, ['search:read'], { whole: false });
        const { answer, rows } = read(workgroup, { devices });
        return sendList(request, reply, lake, answer, rows);
      },
    );
    rejectOtherMethods(app, url, ['GET']);
  }
}

async function listDevices(
  lake: LakeReader,
  workgroup: WorkgroupConfig,
  { devices: visible }: Visible,
): Promise<ListedDevice[]> {
  const generation = await lake.newestGeneration(workgroup.id);
  const states = await readDeviceStates(lake, generation, workgroup);
  const sources = await readSources(lake, generation);
  const resolver = createRoleResolver(workgroup);
  const known = new Map([...sources].map(([device, list]) => [device, new Set(list)]));
  for (const { device, source } of resolver.named)
    known.set(device, (known.get(device) ?? new Set()).add(source));
  const sites = visibleSites(workgroup, { devices: visible });
  return states
    .filter(({ device }) => visible === 'all' || visible.has(device))
    .map(({ device, name, state, sinceMs, reason, lastSeenMs }) => ({
      id: device,
      name: name ?? null,
      state,
      since: formatInstantOrNull(sinceMs),
      reason,
      lastSeen: formatInstantOrNull(lastSeenMs),
      sites: sites.filter((site) => site.devices.some(({ id }) => id === device)).map((site) => site.name),
      meters: workgroup.meters.filter((meter) => meter.device === device).map(({ code }) => code),
      sources: [...(known.get(device) ?? [])].sort().flatMap((source): ListedSource[] => {
        const spans = resolver.spansOf({ device, source });
        if (spans.length === 0) return [{ source, role: null, negativeRole: null, from: null, to: null }];
        return spans.map(({ role, negativeRole, from, to }) => ({
          source,
          role,
          negativeRole: negativeRole ?? null,
          from: from ?? null,
          to: to ?? null,
        }));
      }),
    }));
}

/** A device without sources has one row. */
function deviceRows(devices: readonly ListedDevice[]): ListRows {
  const none = { source: null, role: null, negativeRole: null, from: null, to: null };
  return {
    name: 'devices',
    columns: [
      ...(['device', 'device_name', 'state', 'since', 'reason', 'last_seen', 'source'] as const),
      ...(['role', 'negative_role', 'role_from', 'role_to', 'sites', 'meters'] as const),
    ],
    rows: devices.flatMap(({ id, name, lastSeen, sources, ...device }) =>
      (sources.length === 0 ? [none] : sources).map(({ source, role, negativeRole, from, to }) => ({
        ...device,
        device: id,
        device_name: name,
        last_seen: lastSeen,
        source,
        role,
        negative_role: negativeRole,
        role_from: from,
        role_to: to,
      })),
    ),
  };
}

function siteRows(sites: readonly ListedSite[]): ListRows {
  return {
    name: 'sites',
    columns: ['site', 'meters', 'device_ids'],
    rows: sites.map(({ name, meters, devices }) => ({
      site: name,
      meters,
      device_ids: devices.map(({ id }) => id),
    })),
  };
}

function meterRows(meters: readonly ListedMeter[]): ListRows {
  return {
    name: 'meters',
    columns: ['meter', 'meter_name', 'device', 'source', 'sites'],
    rows: meters.map(({ code, name, ...meter }) => ({ ...meter, meter: code, meter_name: name })),
  };
}

function listSites(workgroup: WorkgroupConfig, visible: Visible): ListedSite[] {
  const names = new Map(workgroup.devices.map(({ id, name }) => [id, name]));
  return visibleSites(workgroup, visible).map(({ name, meters, devices }) => ({
    name,
    meters: [...new Set(meters.map(({ code }) => code))],
    devices: [...new Set(devices.map(({ id }) => id))].map((id) => ({ id, name: names.get(id) ?? null })),
  }));
}

function listMeters(workgroup: WorkgroupConfig, visible: Visible): ListedMeter[] {
  const sites = visibleSites(workgroup, visible);
  return visibleMeters(workgroup.meters, visible).map(({ code, name, device, source }) => ({
    code,
    name: name ?? null,
    device: device ?? null,
    source: source ?? null,
    sites: sites.filter((site) => site.meters.some((meter) => meter.code === code)).map((site) => site.name),
  }));
}
