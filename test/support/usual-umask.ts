// A service that starts makes new files of its process private. So each test file begins with the usual umask
// again.
process.umask(0o022);
