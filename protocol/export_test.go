package protocol

// Rewrite is the flag of tests that write a file.
var Rewrite = update
