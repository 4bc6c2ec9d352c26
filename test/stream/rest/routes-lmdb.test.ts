import { openLmdbLog } from '../../../src/stream/log/lmdb-log.ts';
import { serveFrom } from '../../support/stream-service.ts';
import { tempDir } from '../../support/temp-dir.ts';

serveFrom((options) => openLmdbLog({ ...options, path: tempDir() }));
await import('./stream-routes.test.ts');
await import('./read-access.test.ts');
await import('./route-errors.test.ts');
