// A process that has the warehouse of workgroup acme open and answers for it, until it is killed.

import { silentLog } from '../../src/lib/logger.ts';
import { createPipeline } from '../../src/pipeline/pipeline.ts';
import { createControlServer } from '../../src/worker-rpc/rpc-server.ts';
import { assignmentOf } from '../pipeline/answers.ts';

const dataDir = process.argv[2]!;
const pipeline = createPipeline({ logLevel: 'silent', log: silentLog });
await pipeline.open(assignmentOf(dataDir));
const control = createControlServer({ dataDir, pipeline, log: silentLog });
await control.open('acme');
process.send!('open');
