// Starting the service makes new files of its process private. The next test file in this process begins with
// the usual umask again.
process.umask(0o022);
