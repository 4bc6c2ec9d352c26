import type { FastifyInstance } from 'fastify';
import type { Access } from '../access/access.ts';
import type { AccessAudit } from '../access/access-audit.ts';
import type { Audit } from '../audit/audit.ts';
import type { Config } from '../config/config.ts';
import type { Workgroups } from '../config/workgroups.ts';
import { localUrl } from '../http/local-url.ts';
import { openOnce } from '../lib/open-once.ts';
import { registerOperateRoutes } from '../operate/operate-routes.ts';
import type { LakeReader } from '../report/lake/lake-reader.ts';
import type { OpenControl } from './open-control.ts';
import { openExports } from './open-exports.ts';
import type { Service } from './service.ts';
import { createUpstreams } from './upstreams.ts';

/**
 * Adds the endpoints for operators.
 * @param ownUrl the address of this process; undefined until it listens, and if it has no stream
 * @returns stops exports that were started by hand
 */
export function addOperate(
  app: FastifyInstance,
  config: Config,
  parts: Pick<Service, 'logger' | 'clock'> & {
    access: Access;
    accessAudit: AccessAudit;
    audit: Audit;
    workgroups: Workgroups;
    lake: LakeReader;
    control: OpenControl;
    ownUrl: () => string | undefined;
  },
): () => Promise<void> {
  const { workgroups, access } = parts;
  const stopping = new AbortController();
  const opening = openOnce(() => openExports(config, parts, workgroups));
  registerOperateRoutes(app, {
    ...parts,
    config,
    findStream(workgroupId) {
      const url = parts.ownUrl() ?? localUrl(config.http.host, config.http.streamPort);
      return createUpstreams(workgroups, url, access).addressOf(workgroupId);
    },
    openExports: async () => (await opening.get()).exports,
    signal: stopping.signal,
  });
  return async () => {
    stopping.abort();
    await (await opening.ifOpened())?.close();
  };
}
