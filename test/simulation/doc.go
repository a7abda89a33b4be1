// Package simulation lets servers, networks and consumers do to a reflector whatever
// they can, in virtual time and from seeds, and demands that what relist promises
// holds all the same. It has tests only.
//
// # What is promised
//
//   - Convergence: once faults stop and the server is quiet, the copy is the server's
//     state, key by key, in UID and version, within the hour at most: the longest waits
//     are for an idle watch (10 minutes and 10 seconds) and for another look at an
//     object that could not be decoded (20 minutes).
//   - History: the deltas, applied one after the other, make the copy. No version of an
//     object comes before an older one of it, nothing that was deleted comes back,
//     nothing is deleted twice, and another object of the same name is another object.
//   - Rate: in no minute are there more than 24 watches, and 24 lists, those of single
//     objects and of verifications included, whatever the server answers. The same fault
//     again and again gets no more than 20 requests out of a reflector once five minutes
//     have passed, and most get 6. Later pages of a list are not counted.
//   - Recovery: each fault has a time within which the copy is fresh again, at the median
//     and at worst. The times are in the table faults of recovery_test.go.
//   - Herds: reflectors that lose their server together do not list together, and those
//     that have nothing to hear ask for little. The limits are in the table herds of
//     herd_test.go.
//   - Restarts: what a rolling restart of API servers costs is explained by the watches that
//     it cuts, and no list is read from etcd. See fleet_test.go.
//   - Stopping: Run returns in no time at any moment, and leaves nothing behind.
//
// # How
//
// Most of it runs against a ListWatcher in memory over a log of all that ever happened,
// whose answers an adversary chooses from all shapes of faults, one after the other or
// the same again and again. The same is done over HTTP, with apitest. A seed decides
// what the server, the network, the writer and the consumer do, and when; how goroutines
// take turns it does not decide.
//
//	go test ./simulation                                     # 50 seeds, some seconds
//	go test ./simulation -seeds=100000 -timeout=0
//	go test ./simulation -run '^TestConvergence$' -seed=17 -v  # one, and what happens
//	go test ./simulation -run '^TestRecovery$/WebSocket' -seed=17 -v
//
// The tables of docs/guarantees.md are measured with more seeds than the tests use. These run at
// the top of the repository:
//
//	make recovery                 # 200 seeds for each row, and the tables
//	make recovery ARGS=-update    # writes them into the page
//
// A run in which too little happened fails: it has shown nothing.
package simulation
