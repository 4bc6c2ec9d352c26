// A process that has the warehouse of workgroup acme open and answers for it, until it is killed.

import { silentLogger } from '../../src/lib/logger.ts';
import { createPipeline } from '../../src/pipeline/pipeline.ts';
import { createControlServer } from '../../src/worker-rpc/control-server.ts';
import { assignmentOf } from '../pipeline/answers.ts';

const dataDir = process.argv[2]!;
const pipeline = createPipeline({ logLevel: 'silent', logger: silentLogger });
await pipeline.open(assignmentOf(dataDir));
const control = createControlServer({ dataDir, pipeline, logger: silentLogger });
await control.open('acme');
process.send!('open');
