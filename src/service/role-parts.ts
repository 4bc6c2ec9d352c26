import type { Access } from '../access/access.ts';
import type { AccessAudit } from '../access/access-audit.ts';
import type { Audit } from '../audit/audit.ts';
import type { Workgroups } from '../config/workgroups.ts';
import type { BucketLake } from './open-bucket-lake.ts';
import type { OpenControl } from './open-control.ts';
import type { Service } from './service.ts';

/** The objects that the roles of a process share. */
export type RoleParts = Pick<Service, 'logger' | 'clock'> & {
  access: Access;
  accessAudit: AccessAudit;
  audit: Audit;
  workgroups: Workgroups;
  control: OpenControl;
  /** Undefined if no bucket is configured. */
  bucket: BucketLake | undefined;
};
