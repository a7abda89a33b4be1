// Package lease lets one of several processes work, by a Lease of coordination.k8s.io/v1, as
// client-go's leader election does: processes of both kinds can share a Lease, and kubectl shows
// who has it. controller.Run takes a [Lease] as an option.
//
//	leader, err := lease.New(client, lease.Options{Namespace: "shop-system", Name: "shop-operator"})
//	err = controller.Run(ctx, reconcile, controller.Options{Leader: leader}, controller.For(shops))
//
// The leader renews the Lease. A process that has seen the same renewal for the Duration of the
// Lease takes it. It counts by its own clock, from when it first saw the renewal, and compares no
// time that another process has written: so the clocks may be hours apart. They may also run at
// different speeds, because the leader stops after two thirds of the Duration, counted from when it
// sent the renewal. Each write of the Lease has the resourceVersion of the state that it follows,
// so of several processes that try to take it one does.
//
// # The gate
//
// The context of a leader has a gate. Package writer asks it before each request: once the leader's
// time is over, no write begins, and its error satisfies errors.Is with context.Canceled. The gate
// reads the clocks itself. So it holds in a process that was stopped and continues, before any
// timer has rung, and after the machine has slept. When the time is over, the context ends, too,
// which cuts requests that are under way.
//
// The gate cannot stop what has passed it. A process that is stopped between the gate and the
// socket, for example while it gets a token, sends its write when it continues, and the server may
// still make a write whose request was cut. Against these, let the server compare: Modify,
// ModifyStatus, Update and CreateOrModify send the resourceVersion of the object that they begin
// from, so the server refuses the write if the new leader has written to that object. Apply and
// MergePatch do not.
//
// If somebody deletes the Lease, a process that starts just then may take it while the leader
// works. A process that had seen the Lease waits all the same.
//
// Begin with [New] and [Lease.Lead].
package lease
