// Package load is an API server for measuring clients, which itself needs very little
// CPU and memory.
//
// It serves Pods and ConfigMaps, each as a list and as a watch, in JSON, protobuf and
// CBOR, over HTTP/1.1 or HTTP/2. It has no writers. The measured program tells it
// under /bench/ what to change and when, so the program always knows which change
// comes next. The ConfigMaps of each namespace are also a resource of their own, with a
// name of objects.Type.
//
//	POST /bench/change?resource=pods&count=5000           5,000 objects change, one after the other; watches say so as fast as they are read
//	POST /bench/change?resource=pods&count=5000&rate=1000 1,000 of them a second
//	POST /bench/change?resource=pods&count=1&index=7      that one
//	POST /bench/expire?resource=pods&count=200            200 objects change unseen, and every watch ends with 410
//
//	POST /bench/sent?resource=pods&count=0                nothing; the answer is the number of bytes that were sent so far
//	POST /bench/asked?resource=pods&count=0               nothing; the answer is the number of requests so far, without these
//	POST /bench/listed?resource=pods&count=0              nothing; the answer is the number of objects in lists so far
//	POST /bench/listed-at?resource=pods&count=0           nothing; the answer is when the last of these lists began, in nanoseconds since 1970
//
// A list of one object by its name is a request, but counts no object. The answer to the others is the resourceVersion after it.
//
// It answers as kube-apiserver does if the difference would change the work of a
// client: a list at resourceVersion 0 ignores the limit, as the watch cache does;
// other lists are paged; a watch can begin with the present state
// (sendInitialEvents).
package load
