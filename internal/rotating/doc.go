// Package rotating is an API server whose credentials are good for a few seconds, and a
// client's files that follow, for tests of what outlives them.
//
//	World -- Rotate --> the server accepts generation n+1 only
//	                    the files hold generation n+1, by one rename
//	      -- Check  --> one list, no relist, at most one 401 for each rotation
//
// The two happen at once, so that the next request is always made with what is good no
// longer: that is the worst of the moments at which a rotation can come.
//
// Begin with [New]. It works on loopback, and inside [testing/synctest].
package rotating
