// Package load is an API server for measuring clients, which itself needs very little
// CPU and memory.
//
// It serves Pods, as a list and as a watch, in JSON and protobuf, over HTTP/1.1
// or HTTP/2. It has no writers. The measured program tells it under /bench/ what to
// change and when, so the program always knows which change comes next.
//
//	POST /bench/change?count=5000           5,000 Pods change, one after the other; watches say so as fast as they are read
//	POST /bench/change?count=5000&rate=1000 1,000 of them a second
//	POST /bench/change?count=1&index=7      that one
//	POST /bench/expire?count=200            200 Pods change unseen, and every watch ends with 410
//	POST /bench/sent?count=0                nothing; the answer is the number of bytes that were sent so far
//	POST /bench/watches?count=0             nothing; the answer is the number of watches that are open
//
// The answer to the others is the resourceVersion after it. No namespace has Pods of its
// own: there a list is empty, and a watch silent.
//
// It answers as kube-apiserver does if the difference would change the work of a
// client: a list at resourceVersion 0 ignores the limit, as the watch cache does;
// other lists are paged; a watch can begin with the present state
// (sendInitialEvents).
//
// Package apitest is not used here, because it stores objects as an API server does.
// A change of a Pod takes 0.9 ms of CPU there: at 1,000 changes a second, it
// would take one of the two cores that it shares with the measured program. To fill it
// with 20,000 Pods takes 6 s before each run, and the first list in protobuf 8 s.
package load
